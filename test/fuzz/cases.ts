import fc, { type Arbitrary } from "fast-check";
import Type, { type TSchema } from "typebox";
import { addressOf, type Operation, operationsOf, type Resources } from "#http/app.ts";
import { pathNames } from "#http/endpoint.ts";
import { paramsOf } from "#http/serve.ts";
import { type Change, changesFor } from "./changes.ts";
import type { Field } from "./encode.ts";
import { Upload } from "./marks.ts";
import { type Asked, type Encoding, finish, newDraft, setField, withoutFiles } from "./request.ts";
import { cursorValue, DATABASE_BREAKERS, validValue } from "./values.ts";
import type { Caller, World } from "./world.ts";

export type Kind = "seed" | "valid" | "almost valid" | "hostile";

/** One request with what the report says of it. */
export interface Case {
  readonly kind: Kind;
  /** The operation it is aimed at; a change may lead it elsewhere. */
  readonly operation: string;
  readonly caller: string;
  readonly asked: Asked;
}

interface Position {
  readonly orderBy: string;
  readonly sort: string;
  readonly value: unknown;
  readonly id: unknown;
}

interface Ingredients {
  readonly values: Readonly<Record<string, unknown>>;
  readonly caller: Caller;
  readonly shown: (typeof TOKEN_PLACES)[number];
  readonly encoding: Encoding;
  readonly position: Position | undefined;
  readonly changes: readonly Change[];
}

const TOKEN_PLACES = [
  "header",
  "header",
  "header",
  "bearer",
  "bearer",
  "query",
  "query",
  "body",
  "body",
  "all",
  "two",
] as const;
const WITH_BODY: readonly Encoding[] = ["json", "json", "form", "multipart", "none"];
const WITHOUT_BODY: readonly Encoding[] = ["none", "none", "none", "json", "form"];

interface Rules {
  readonly atLeastOneOf?: readonly (readonly string[])[];
  readonly allOrNoneOf?: readonly (readonly string[])[];
}

/** Makes the cases of one operation. */
function kitchen({ name, endpoint }: Operation, world: World) {
  const params = paramsOf(endpoint);
  const { atLeastOneOf = [], allOrNoneOf = [] } = params as Rules;
  const inPath = pathNames(endpoint.path);
  const properties = Object.entries(params.properties);
  const encodings = ["GET", "DELETE"].includes(endpoint.method) ? WITHOUT_BODY : WITH_BODY;
  const orders = params.properties["cursor"]
    ? (params.properties["order_by"] as TSchema & { enum: string[] }).enum
    : undefined;
  const needed = new Set([
    ...inPath,
    ...properties.filter(([, schema]) => !Type.IsOptional(schema)).map(([key]) => key),
  ]);
  for (const [first] of atLeastOneOf) if (first !== undefined) needed.add(first);

  const values = fc.record(
    Object.fromEntries(
      properties.map(([key, schema]) => [
        key,
        needed.has(key) ? validValue(key, schema) : seldom(validValue(key, schema)),
      ]),
    ),
  );
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
  const ingredients = (
    changes: Arbitrary<readonly Change[]>,
    callers: readonly Caller[],
    places: readonly Ingredients["shown"][],
  ) =>
    fc.record<Ingredients>({
      values,
      caller: fc.constantFrom(...callers),
      shown: fc.constantFrom(...places),
      encoding: fc.constantFrom(...encodings),
      position,
      changes,
    });

  function build(kind: Kind, { values: given, caller, shown, encoding, position: at, changes }: Ingredients): Case {
    const complete = withoutHalfGroups(given, allOrNoneOf);
    const draft = newDraft(endpoint.method, addressOf(endpoint), new Map(Object.entries(complete)));
    const fields: Field[] = Object.entries(complete).filter(
      ([key, value]) => value !== undefined && !inPath.includes(key),
    );
    draft.encoding =
      fields.some(([, value]) => value instanceof Upload) && encoding !== "none" ? "multipart" : encoding;
    if (encoding === "none") draft.query = withoutFiles(fields);
    else draft.fields = fields;
    if (at) showPosition(draft, at);
    showToken(draft, caller.token, shown, world);
    for (const change of changes) change(draft);
    return { kind, operation: name, caller: caller.name, asked: finish(draft) };
  }

  const change = changesFor(params);
  const usual = [world.administrator, world.administrator, world.administrator, world.user, world.user];
  const mixed = [...usual, ...usual, ...world.callers];
  // A password costs as much to hash as a hundred other requests do.
  const weight = params.properties["password"] ? 1 : 4;
  return {
    weight,
    random: fc.oneof(
      {
        arbitrary: ingredients(fc.constant([]), [...usual, ...mixed], TOKEN_PLACES).map((given) =>
          build("valid", given),
        ),
        weight: 2,
      },
      {
        arbitrary: ingredients(
          change.map((only) => [only]),
          mixed,
          TOKEN_PLACES,
        ).map((given) => build("almost valid", given)),
        weight: 5,
      },
      {
        arbitrary: ingredients(fc.array(change, { minLength: 2, maxLength: 5 }), mixed, TOKEN_PLACES).map((given) =>
          build("hostile", given),
        ),
        weight: 3,
      },
    ),
    /** What breaks the database, on each parameter by turns in query, JSON, form and multipart. */
    *seeds(): Generator<Case> {
      let turn = 0;
      for (const [key, schema] of properties) {
        const group = allOrNoneOf.find((keys) => keys.includes(key)) ?? [];
        for (const breaker of Object.values(DATABASE_BREAKERS)) {
          turn++;
          const wanted = properties.filter(([other]) => needed.has(other) || group.includes(other));
          const [base] = fc.sample(
            fc.record(Object.fromEntries(wanted.map(([other, its]) => [other, validValue(other, its)]))),
            {
              seed: turn,
              numRuns: 1,
            },
          );
          yield build("seed", {
            values: { ...base, ...unlike(base, turn) },
            ...{ caller: world.administrator, shown: "header", position: undefined },
            encoding: encodings[turn % encodings.length] ?? "none",
            changes: [(draft) => setField(draft, key, inside(schema, breaker(schema)))],
          });
        }
      }
    },
  };
}

const seldom = (value: Arbitrary<unknown>) =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 7 }, { arbitrary: value, weight: 1 });

/** Parameters that go together or not at all; half of them is a mistake, which is for the changes to make. */
function withoutHalfGroups(
  given: Ingredients["values"],
  groups: readonly (readonly string[])[],
): Record<string, unknown> {
  const complete = { ...given };
  for (const keys of groups) {
    if (keys.some((key) => given[key] === undefined)) for (const key of keys) delete complete[key];
  }
  return complete;
}

/** Names of its own for each seed, since the random ones would repeat. */
const unlike = (base: Record<string, unknown> | undefined, turn: number) => ({
  ...(base && "username" in base && { username: `seed-${turn}` }),
  ...(base && "email" in base && { email: `seed-${turn}@example.com` }),
});

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

function showToken(
  draft: ReturnType<typeof newDraft>,
  token: string | undefined,
  shown: Ingredients["shown"],
  world: World,
) {
  if (token === undefined) return;
  const inBody = draft.encoding === "json" || draft.encoding === "form";
  if (shown === "header" || shown === "all" || shown === "two" || (shown === "body" && !inBody))
    draft.headers.push(["PRIVATE-TOKEN", token]);
  if (shown === "bearer" || shown === "all") draft.headers.push(["Authorization", `Bearer ${token}`]);
  if (shown === "two") draft.headers.push(["Authorization", `Bearer ${world.user.token}`]);
  if (shown === "query" || shown === "all") draft.query.push(["private_token", token]);
  if (shown === "body" && inBody) draft.fields.push(["private_token", token]);
}

/** Every seed, and an endless stock of random cases, of all operations. */
export function casesOf(resources: Resources, world: World): { seeds: readonly Case[]; random: Arbitrary<Case> } {
  const kitchens = operationsOf(resources).map((operation) => kitchen(operation, world));
  return {
    seeds: kitchens.flatMap(({ seeds }) => [...seeds()]),
    random: fc.oneof(...kitchens.map(({ weight, random }) => ({ weight, arbitrary: random }))),
  };
}
