import fc, { type Arbitrary } from "fast-check";
import Type, { type TSchema } from "typebox";
import { type Operation, operationsOf, type Resources } from "#http/app.ts";
import { urlOf } from "#http/paths.ts";
import { type Endpoint, pathNames } from "#http/endpoint.ts";
import { paramsOf } from "#http/route.ts";
import { type Change, changesFor } from "./changes.ts";
import type { Field } from "./encode.ts";
import { regressions } from "./regressions.ts";
import { EXPRESSIONS } from "./hostile-names.ts";
import { isAboutCode, NAMES_OF_REFS } from "./code-values.ts";
import { type GitRequest, gitRequestFor, typeFor } from "./git-requests.ts";
import { addressesFor, knownTo, relatedTo } from "./known.ts";
import { Upload } from "./marks.ts";
import { type WireRequest, type Draft, type Encoding, finish, newDraft, setField, withoutFiles } from "./request.ts";
import { cursorValue, DATABASE_BREAKERS, validValue } from "./values.ts";
import type { Caller, World } from "./world.ts";

export type Kind = "seed" | "valid" | "almost valid" | "hostile";

/** One request and its description for the report. */
export interface Case {
  readonly kind: Kind;
  /** The operation that it was generated for; a change may lead it to another one. */
  readonly operation: string;
  readonly caller: string;
  /** Whether the caller must count as anonymous. */
  readonly nobody: boolean;
  /** Whether it can be repeated with its idempotency key. */
  readonly keyed: boolean;
  /** Whether it names a revision by an expression, which must not be evaluated. */
  readonly barred?: boolean;
  readonly asked: WireRequest;
}

interface Position {
  readonly orderBy: string;
  readonly sort: string;
  readonly value: unknown;
  readonly id: unknown;
}

interface CaseParts {
  readonly values: Readonly<Record<string, unknown>>;
  readonly caller: Caller;
  readonly shown: TokenPlace;
  readonly encoding: Encoding;
  readonly position: Position | undefined;
  /** The idempotency key, if there is one. */
  readonly key: string | undefined;
  readonly changes: readonly Change[];
  /** The request of git, for an endpoint of git. */
  readonly gitRequest: GitRequest | undefined;
}

const byWeight = <const T>(...choices: [value: T, weight: number][]) =>
  fc.oneof(...choices.map(([value, weight]) => ({ arbitrary: fc.constant(value), weight })));

/** Where a request has its token; `all` is the same one three times, `two` are different ones. */
type TokenPlace = "header" | "bearer" | "query" | "body" | "all" | "two" | "basic";
const tokenPlace: Arbitrary<TokenPlace> = byWeight(
  ["header", 3],
  ["bearer", 2],
  ["query", 2],
  ["body", 2],
  ["all", 1],
  ["two", 1],
);

const WITH_BODY: readonly Encoding[] = ["json", "form", "multipart", "none"];
const WITHOUT_BODY: readonly Encoding[] = ["none", "json", "form"];
const withBody: Arbitrary<Encoding> = byWeight(["json", 2], ["form", 1], ["multipart", 1], ["none", 1]);
const withoutBody: Arbitrary<Encoding> = byWeight(["none", 3], ["json", 1], ["form", 1]);

/** How many revision expressions are tried on every parameter. */
const EXPRESSIONS_PER_PARAMETER = 4;

interface Rules {
  readonly atLeastOneOf?: readonly (readonly string[])[];
  readonly allOrNoneOf?: readonly (readonly string[])[];
  readonly mutuallyExclusive?: readonly (readonly string[])[];
}

/** Generates the cases of one operation. */
function caseGenerator({ name, endpoint }: Operation, world: World) {
  const params = paramsOf(endpoint);
  const { atLeastOneOf = [], allOrNoneOf = [], mutuallyExclusive = [] } = params as Rules;
  const known = knownTo(endpoint, world);
  const inPath = pathNames(endpoint.path);
  const properties = Object.entries(params.properties);
  const bodiless = endpoint.method === "GET" || endpoint.method === "DELETE";
  const orders = params.properties["cursor"]
    ? ((params.properties["order_by"] as (TSchema & { enum: string[] }) | undefined)?.enum ?? ["id"])
    : undefined;
  const needed = new Set([
    ...inPath,
    ...properties.filter(([, schema]) => !Type.IsOptional(schema)).map(([key]) => key),
  ]);
  for (const [first] of atLeastOneOf) if (first !== undefined) needed.add(first);

  const independent = fc.record(
    Object.fromEntries(
      properties.map(([key, schema]) => {
        const value = validValue(key, schema, known);
        return [key, needed.has(key) ? value : rarely(value)];
      }),
    ),
  );
  const related = relatedTo(endpoint, world);
  const key = endpoint.idempotent
    ? fc.option(fc.nat(999).map(String), { nil: undefined, freq: 2 })
    : fc.constant(undefined);
  const gitRequest = gitRequestFor(endpoint, world.code) ?? fc.constant(undefined);
  const values: Arbitrary<CaseParts["values"]> = related
    ? fc.tuple(independent, fc.option(related, { freq: 10 })).map(([given, together]) => ({ ...given, ...together }))
    : independent;
  const position: Arbitrary<Position | undefined> = orders
    ? fc.option(
        fc.record({
          orderBy: fc.constantFrom(...orders),
          sort: fc.constantFrom("asc", "desc"),
          value: cursorValue,
          id: fc.oneof({ arbitrary: fc.nat(60), weight: 4 }, { arbitrary: cursorValue, weight: 1 }),
        }),
        { nil: undefined, freq: 3 },
      )
    : fc.constant(undefined);
  const cases = (kind: Kind, callers: readonly Caller[], changes: Arbitrary<readonly Change[]>) =>
    fc
      .record<CaseParts>({
        values,
        caller: fc.constantFrom(...callers),
        shown: tokenPlace,
        encoding: bodiless ? withoutBody : withBody,
        position,
        key,
        changes,
        gitRequest,
      })
      .map((given) => build(kind, given));

  function build(kind: Kind, { values: given, caller, shown, encoding, position: at, ...rest }: CaseParts): Case {
    const complete = consistent(given, allOrNoneOf, mutuallyExclusive);
    const draft = newDraft(endpoint.method, urlOf(endpoint), new Map(Object.entries(complete)));
    const fields: Field[] = Object.entries(complete).filter(
      ([key, value]) => value !== undefined && !inPath.includes(key),
    );
    draft.encoding =
      fields.some(([, value]) => value instanceof Upload) && encoding !== "none" ? "multipart" : encoding;
    if (encoding === "none") draft.query = withoutFiles(fields);
    else draft.fields = fields;
    if (at) showPosition(draft, at);
    if (rest.gitRequest) setGitRequest(draft, endpoint, rest.gitRequest);
    draft.headers.push(...(caller.session ?? []).map(([header, value]): [string, string] => [header, value]));
    showToken(draft, caller.token, endpoint.access.forGit && shown === "bearer" ? "basic" : shown, world);
    if (rest.key !== undefined) draft.headers.push(["idempotency-key", rest.key]);
    for (const change of rest.changes) change(draft);
    const about = { caller: caller.name, nobody: caller.nobody === true, keyed: rest.key !== undefined };
    return { kind, operation: name, ...about, asked: finish(draft) };
  }

  /** The required parameters, and some others. */
  function baseOf(more: readonly string[]) {
    const wanted = properties.filter(([key]) => needed.has(key) || more.includes(key));
    return fc.record(Object.fromEntries(wanted.map(([key, schema]) => [key, validValue(key, schema, known)])));
  }

  function seeded(base: Arbitrary<Record<string, unknown>>, seed: number, encoding: Encoding, change: Change): Case {
    const [sample = {}] = fc.sample(base, { seed, numRuns: 1 });
    const [together = {}] = related ? fc.sample(related, { seed, numRuns: 1 }) : [];
    return build("seed", {
      values: { ...sample, ...withUniqueNames(sample, seed), ...together },
      ...{ caller: usual[0] as Caller, shown: "header", position: undefined, key: undefined, encoding },
      ...{ changes: [change], gitRequest: fc.sample(gitRequest, { seed, numRuns: 1 })[0] },
    });
  }

  const about = { code: isAboutCode(endpoint), isGit: gitRequestFor(endpoint, world.code) !== undefined };
  const change = changesFor(params, about);
  const usual = usualFor(endpoint, world);
  const mixed = [...usual, ...usual, ...usual, ...world.callers];
  // Hashing a password costs as much as a hundred other requests.
  const isHeavy = params.properties["password"] !== undefined;
  return {
    weight: isHeavy ? 2 : 4,
    random: fc.oneof(
      { arbitrary: cases("valid", [...usual, ...mixed], fc.constant([])), weight: 3 },
      { arbitrary: cases("almost valid", mixed, fc.tuple(change)), weight: 5 },
      { arbitrary: cases("hostile", mixed, fc.array(change, { minLength: 2, maxLength: 5 })), weight: 2 },
    ),
    /**
     * Values that PostgreSQL refuses, on each parameter in query, JSON, form and multipart. They take turns if they are
     * expensive, or if the parameter is known from another operation, since the encoding matters only for parsing.
     */
    *seeds(read: Set<string>): Generator<() => Case> {
      const encodings = bodiless ? WITHOUT_BODY : WITH_BODY;
      let turn = 0;
      for (const address of addressesFor(endpoint, world)) {
        const seed = ++turn;
        yield () => seeded(baseOf([]), seed, "none", (draft) => setField(draft, "id", address));
      }
      for (const [key, schema] of about.code ? properties.filter(([name]) => NAMES_OF_REFS.has(name)) : []) {
        for (const expression of EXPRESSIONS.filter(
          (_, number) => number % EXPRESSIONS_PER_PARAMETER === (turn + read.size) % EXPRESSIONS_PER_PARAMETER,
        )) {
          const seed = ++turn;
          const [first] = world.code.places;
          const named = (draft: Draft) => {
            setField(draft, "id", first?.id);
            setField(draft, key, Type.IsArray(schema) ? [expression, "main"] : expression);
          };
          yield () => ({ ...seeded(baseOf([key]), seed, bodiless ? "none" : "json", named), barred: true });
        }
      }
      for (const [at, [key, schema]] of properties.entries()) {
        const parameter = `${key} ${JSON.stringify(schema)}`;
        const isRead = read.has(parameter);
        const once = isHeavy || inPath.includes(key) || isClosed(schema) || isRead;
        read.add(parameter);
        const base = baseOf(allOrNoneOf.find((keys) => keys.includes(key)) ?? []);
        const breakers = Object.values(DATABASE_BREAKERS);
        for (const [number, breaker] of breakers.entries()) {
          // A schema refuses a value in every encoding, so one of them is enough.
          if (isRead && (about.code || !isFree(schema)) && number !== at % breakers.length) continue;
          for (const encoding of once ? encodings.slice((at + number) % encodings.length).slice(0, 1) : encodings) {
            const seed = ++turn;
            yield () => seeded(base, seed, encoding, (draft) => setField(draft, key, inside(schema, breaker(schema))));
          }
        }
      }
    },
  };
}

/** The callers of most requests to an endpoint: those who have access. */
function usualFor({ path, method, access }: Endpoint, { administrator, user, browser }: World): readonly Caller[] {
  const always = (caller: Caller) => Array.from({ length: 6 }, () => caller);
  if (path === "/session") return always(browser);
  // Only an administrator has a second factor, and only the user has an unconfirmed one.
  if (path === "/user/two_factor" && (method === "POST" || method === "PUT")) return always(user);
  if (path.startsWith("/user/two_factor")) return always(administrator);
  // Objects with a known id belong to the administrator.
  if (/^\/user\/\w+\/:/.test(path)) return always(administrator);
  const able = access.rule === "administrators" ? administrator : user;
  return [administrator, administrator, administrator, able, user, browser];
}

const rarely = (value: Arbitrary<unknown>) =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 7 }, { arbitrary: value, weight: 1 });

/** Keeps the rules on groups of parameters; changes violate them later. */
function consistent(
  given: CaseParts["values"],
  together: readonly (readonly string[])[],
  exclusive: readonly (readonly string[])[],
): Record<string, unknown> {
  const complete = { ...given };
  for (const keys of together) {
    if (keys.some((key) => given[key] === undefined)) for (const key of keys) delete complete[key];
  }
  for (const keys of exclusive) {
    for (const key of keys.filter((name) => complete[name] !== undefined).slice(0, -1)) delete complete[key];
  }
  return complete;
}

/** Gives each seed its own names, since random ones would repeat. */
const withUniqueNames = (sample: Record<string, unknown>, turn: number) => ({
  ...("path" in sample && { path: `seed-${turn}` }),
  ...("name" in sample && { name: `Seed ${turn}` }),
  ...("username" in sample && { username: `seed-${turn}` }),
  ...("email" in sample && { email: `seed-${turn}@example.com` }),
  ...("domain" in sample && { domain: `seed-${turn}.example` }),
});

/** Whether it accepts texts, which each operation uses differently. */
const isFree = (schema: TSchema): boolean => {
  if (Type.IsUnion(schema)) return schema.anyOf.some(isFree);
  if (Type.IsArray(schema)) return isFree(schema.items);
  return Type.IsRecord(schema) || (Type.IsString(schema) && !("format" in schema));
};

/** Whether it accepts only values of a closed set, which are checked first. */
const isClosed = (schema: TSchema) => Type.IsBoolean(schema) || Type.IsEnum(schema);

const inside = (schema: TSchema, value: unknown): unknown =>
  Type.IsArray(schema) ? [value] : Type.IsRecord(schema) ? { team: value } : value;

function showPosition(draft: ReturnType<typeof newDraft>, { orderBy, sort, value, id }: Position) {
  const text = Buffer.from(JSON.stringify([orderBy, sort, value, id])).toString("base64url");
  const names: Field[] = [
    ["order_by", orderBy],
    ["sort", sort],
    ["pagination", "keyset"],
    ["cursor", text],
  ];
  for (const [name, shown] of names) setField(draft, name, shown);
}

function setGitRequest(draft: Draft, endpoint: Endpoint, { headers, body }: GitRequest) {
  draft.headers.push(...headers.map(([name, value]): [string, string] => [name, value]));
  if (body === undefined) return;
  draft.encoding = "none";
  draft.body = body;
  draft.contentType = typeFor(endpoint);
}

function showToken(draft: ReturnType<typeof newDraft>, token: string | undefined, shown: TokenPlace, world: World) {
  if (token === undefined) return;
  const inBody = draft.encoding === "json" || draft.encoding === "form";
  if (shown === "header" || shown === "all" || shown === "two" || (shown === "body" && !inBody))
    draft.headers.push(["PRIVATE-TOKEN", token]);
  if (shown === "bearer" || shown === "all") draft.headers.push(["Authorization", `Bearer ${token}`]);
  if (shown === "basic") draft.headers.push(["Authorization", `Basic ${btoa(`anybody:${token}`)}`]);
  if (shown === "two") draft.headers.push(["Authorization", `Bearer ${world.user.token}`]);
  if (shown === "query" || shown === "all") draft.query.push(["private_token", token]);
  if (shown === "body" && inBody) draft.fields.push(["private_token", token]);
}

/** Every seed and an endless sequence of random cases, for all operations whose name matches. */
export function casesOf(
  resources: Resources,
  world: World,
  operations: RegExp,
): { seeds: readonly (() => Case)[]; random: Arbitrary<Case> } {
  const kitchens = operationsOf(resources)
    .filter(({ name }) => operations.test(name))
    .map((operation) => caseGenerator(operation, world));
  const read = new Set<string>();
  return {
    seeds: [...regressions(world).map((item) => () => item), ...kitchens.flatMap(({ seeds }) => [...seeds(read)])],
    random: fc.oneof(...kitchens.map(({ weight, random }) => ({ weight, arbitrary: random }))),
  };
}
