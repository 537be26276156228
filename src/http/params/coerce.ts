import Type, { type Static, type TObject, type TSchema } from "typebox";
import { badParameter } from "#lib/refusal.ts";
import { arrayReader, recordReader } from "./lists.ts";
import { emptySet, isHash, type RawSet } from "./raw.ts";
import { compileRules } from "./rules.ts";
import { enumReader, integerReader, INVALID, type Keywords, note, numberReader } from "./scalars.ts";
import { pathNumberReader, pathTextReader, readBoolean, type Reader, readFile, stringReader } from "./scalars.ts";

/**
 * Compiles a schema into a function that types raw parameters. The schema is walked once, at start; a request then costs
 * one call per parameter. Names in `pathNames` come from the path, where a number out of range is 404.
 */
export function compileParams<S extends TObject>(
  schema: S,
  pathNames: readonly string[] = [],
): (raw: RawSet) => Static<S> {
  const read = objectReader(schema, pathNames);
  return (raw) => {
    const problems: string[] = [];
    const params = read(raw, "", problems);
    if (problems.length > 0) throw badParameter(problems.join(", "));
    return params as Static<S>;
  };
}

interface Property {
  readonly key: string;
  readonly read: Reader;
  readonly required: boolean;
  readonly nullable: boolean;
  readonly emptyIsNull: boolean;
  readonly nested: boolean;
  readonly fallback: (() => unknown) | undefined;
}

function objectReader(schema: TObject, pathNames: readonly string[] = []): Reader {
  const properties = Object.entries(schema.properties).map(([key, property]) =>
    compileProperty(key, property, pathNames.includes(key)),
  );
  checkKeywords(schema);
  const rules = compileRules(schema);
  return (value, name, problems) => {
    if (!isHash(value)) return note(problems, name, INVALID);
    const place = (key: string) => (name === "" ? key : `${name}[${key}]`);
    const params: Record<string, unknown> = {};
    for (const property of properties) {
      const given = readProperty(property, value[property.key], place, problems);
      if (given !== undefined) params[property.key] = given;
    }
    for (const check of rules) check(value, params, place, problems);
    return params;
  };
}

function compileProperty(key: string, schema: TSchema, inPath: boolean): Property {
  checkKeywords(schema);
  const { inner, nullable } = withoutNull(schema);
  const fallback = keywordsOf(schema).default;
  const read = readerOf(inner);
  return {
    key,
    read: inPath ? pathReader(inner, read) : read,
    required: !Type.IsOptional(schema),
    nullable,
    emptyIsNull: !keepsEmpty(inner),
    nested: Type.IsObject(inner),
    fallback:
      fallback === undefined ? undefined : () => (typeof fallback === "object" ? structuredClone(fallback) : fallback),
  };
}

/** A missing parameter, and null if it is not nullable, get the default or are left out. */
function readProperty(property: Property, sent: unknown, place: (key: string) => string, problems: string[]): unknown {
  const value = sent === "" && property.emptyIsNull ? null : sent;
  if (value !== undefined && value !== null) return property.read(value, place(property.key), problems);
  if (value === null && property.nullable) return null;
  if (property.fallback) return property.fallback();
  if (!property.required) return undefined;
  const name = place(property.key);
  note(problems, name, "is missing");
  // A missing hash also reports which of its own parameters are required.
  if (property.nested) property.read(emptySet(), name, problems);
  return undefined;
}

function pathReader(schema: TSchema, read: Reader): Reader {
  if (Type.IsInteger(schema)) return pathNumberReader(read, keywordsOf(schema));
  return Type.IsString(schema) ? pathTextReader(read) : read;
}

function withoutNull(schema: TSchema): { inner: TSchema; nullable: boolean } {
  if (!Type.IsUnion(schema)) return { inner: schema, nullable: false };
  const others = schema.anyOf.filter((option) => !Type.IsNull(option));
  const [only] = others;
  const inner = only && others.length === 1 ? only : Type.Union(others);
  return { inner, nullable: others.length < schema.anyOf.length };
}

/** Forms send an empty text for "no value"; only texts, lists and closed sets of values distinguish the two. */
function keepsEmpty(schema: TSchema): boolean {
  if (Type.IsUnion(schema)) return schema.anyOf.some(keepsEmpty);
  if (Type.IsString(schema)) return !isMoment(schema);
  return Type.IsArray(schema) || Type.IsEnum(schema) || Type.IsLiteral(schema);
}

const keywordsOf = (schema: TSchema): Keywords => schema;
const isMoment = (schema: TSchema) => /^date(-time)?$/.test(keywordsOf(schema).format ?? "");
const isFile = (schema: TSchema) => Type.IsUnsafe(schema) && keywordsOf(schema).format === "binary";

function readerOf(schema: TSchema): Reader {
  checkKeywords(schema);
  const keywords = keywordsOf(schema);
  if (Type.IsString(schema)) return stringReader(keywords);
  if (Type.IsInteger(schema)) return integerReader(keywords);
  if (Type.IsNumber(schema)) return numberReader(keywords);
  if (Type.IsBoolean(schema)) return readBoolean;
  if (Type.IsEnum(schema)) return enumReader(schema.enum);
  if (Type.IsLiteral(schema)) return enumReader([schema.const]);
  if (Type.IsUnion(schema)) return unionReader(schema.anyOf);
  if (Type.IsObject(schema)) return objectReader(schema);
  if (Type.IsRecord(schema)) return recordReader(readerOf(Type.RecordValue(schema)));
  if (Type.IsArray(schema)) {
    const { items } = schema;
    const nested = Type.IsObject(items);
    return arrayReader({ read: readerOf(items), emptyIsNull: !keepsEmpty(items), nested }, keywords);
  }
  if (isFile(schema)) return readFile;
  throw new Error(`No parameter can have the schema ${JSON.stringify(schema)}`);
}

function unionReader(options: readonly TSchema[]): Reader {
  if (options.every(Type.IsLiteral)) return enumReader(options.map((option) => option.const));
  const readers = options.map(readerOf);
  return (value, name, problems) => {
    for (const read of readers) {
      const tried: string[] = [];
      const found = read(value, name, tried);
      if (tried.length === 0) return found;
    }
    return note(problems, name, INVALID);
  };
}

const ANNOTATIONS = ["type", "title", "description", "examples", "deprecated", "offering", "plan"];
const OF_VALUES = [
  "default",
  "format",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "not",
  "enum",
  "const",
  "anyOf",
];
const OF_LISTS = ["items", "minItems", "maxItems", "commaList", "patternProperties"];
const OF_OBJECTS = ["properties", "required", "atLeastOneOf", "allOrNoneOf", "mutuallyExclusive"];
const KEYWORDS = new Set([...ANNOTATIONS, ...OF_VALUES, ...OF_LISTS, ...OF_OBJECTS]);

/** A keyword that nothing enforces would look like a check, so the server refuses to start. */
function checkKeywords(schema: TSchema): void {
  const unknown = Object.keys(schema).find((keyword) => !KEYWORDS.has(keyword) && !keyword.startsWith("x-"));
  if (unknown !== undefined) throw new Error(`No parameter can have the keyword ${unknown}`);
}
