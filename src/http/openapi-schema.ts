import Type, { type TObject, type TSchema } from "typebox";

export type Json = Record<string, unknown>;

/** The names of our own keywords in the document; readers of JSON Schema ignore them. */
const OUR_KEYWORDS: Readonly<Record<string, string>> = {
  plan: "x-plan",
  offering: "x-offering",
  commaList: "x-comma-list",
  atLeastOneOf: "x-at-least-one-of",
  allOrNoneOf: "x-all-or-none-of",
  mutuallyExclusive: "x-mutually-exclusive",
};

/** The keyword of rules that are shown without being enforced: the server corrects what breaks them. */
export const SHOWN = "x-shown";

/** Writes schemas for the document; one with a title is written to `components` once and referenced. */
export interface SchemaWriter {
  readonly components: Readonly<Record<string, Json>>;
  write(schema: TSchema): Json;
  /** Writes a schema without a title to `components` under a name. */
  name(name: string, schema: Json): Json;
}

export function schemaWriter(): SchemaWriter {
  const components: Record<string, Json> = {};

  function name(name: string, schema: Json): Json {
    const known = components[name];
    if (known && JSON.stringify(known) !== JSON.stringify(schema)) throw new Error(`Two schemas are called ${name}`);
    components[name] = schema;
    return { $ref: `#/components/schemas/${name}` };
  }

  function write(schema: TSchema): Json {
    const texts = Type.IsEnum(schema) && schema.enum.every((value) => typeof value === "string");
    const written: Json = texts ? { type: "string" } : {};
    const required = Type.IsObject(schema) ? requiredOf(schema) : [];
    for (const [keyword, value] of Object.entries(schema)) Object.assign(written, keywordOf(keyword, value));
    if (required.length > 0) written["required"] = required;
    return typeof written["title"] === "string" ? name(written["title"], written) : withNullType(written);
  }

  function keywordOf(keyword: string, value: unknown): Json {
    switch (keyword) {
      case "required":
        // Written by `write`, without what has a default.
        return {};
      case SHOWN:
        return value as Json;
      case "properties":
        return { properties: mapValues(value as Record<string, TSchema>, write) };
      case "items":
        return { items: write(value as TSchema) };
      case "anyOf":
        return { anyOf: (value as TSchema[]).map(write) };
      case "patternProperties":
        // A hash with names of the caller's choice, in the form that every client generator supports.
        return { additionalProperties: write(Object.values(value as Record<string, TSchema>)[0] ?? {}) };
      default:
        return { [OUR_KEYWORDS[keyword] ?? keyword]: value };
    }
  }

  return { components, write, name };
}

/** Writes "this or null" in the short form, which documentation tools show better. */
function withNullType(schema: Json): Json {
  const { anyOf, ...rest } = schema as { anyOf?: Json[] };
  const [only, nothing] = anyOf ?? [];
  const simple = only && ["string", "integer", "number", "boolean"].includes(String(only["type"])) && !("enum" in only);
  if (anyOf?.length !== 2 || !simple || nothing?.["type"] !== "null" || "const" in only) return schema;
  return { ...only, ...rest, type: [only["type"], "null"] };
}

const mapValues = <A, B>(from: Record<string, A>, make: (value: A) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(from).map(([key, value]) => [key, make(value)]));

/** Whether callers must send it; a parameter with a default may be left out. */
export const isRequired = (schema: TSchema): boolean =>
  !Type.IsOptional(schema) && (schema as { default?: unknown }).default === undefined;

const requiredOf = ({ properties }: TObject): string[] =>
  Object.keys(properties).filter((key) => isRequired(properties[key]!));

interface Spelling {
  readonly name: string;
  readonly style?: { readonly style: "form" | "deepObject"; readonly explode: boolean };
}

/** How queries and forms spell a value: a list as `x[]`, or with commas if it accepts them; a hash as `x[k]`. */
export function spelling(name: string, schema: TSchema): Spelling {
  if (Type.IsArray(schema)) {
    const commas = (schema as { commaList?: boolean }).commaList === true;
    return commas ? { name, style: { style: "form", explode: false } } : { name: `${name}[]` };
  }
  if (Type.IsObject(schema) || Type.IsRecord(schema)) return { name, style: { style: "deepObject", explode: true } };
  return { name };
}

const isFile = (schema: TSchema): boolean => (schema as { format?: string }).format === "binary";

/** The file that a multipart body may carry here, without the null that only other bodies can send. */
export const fileOf = (schema: TSchema): TSchema | undefined =>
  isFile(schema) ? schema : Type.IsUnion(schema) ? schema.anyOf.find(isFile) : undefined;

const RULES = {
  atLeastOneOf: "Give at least one of",
  allOrNoneOf: "Give all or none of",
  mutuallyExclusive: "Give at most one of",
};

type Groups = readonly (readonly string[])[];

const groupsOf = (params: TObject, rule: string) => (params as unknown as Record<string, Groups | undefined>)[rule];

/** The rules about several parameters at once. */
export const rulesOf = (params: TObject): Json =>
  Object.fromEntries(
    Object.keys(RULES).flatMap((rule) => {
      const groups = groupsOf(params, rule);
      return groups ? [[OUR_KEYWORDS[rule], groups]] : [];
    }),
  );

export const rulesInWords = (params: TObject): string[] =>
  Object.entries(RULES).flatMap(([rule, words]) =>
    (groupsOf(params, rule) ?? []).map((names) => `${words} ${names.map((name) => `\`${name}\``).join(", ")}.`),
  );
