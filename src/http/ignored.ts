import Type, { type TObject, type TProperties, type TSchema } from "typebox";
import { hasSecret } from "#lib/secrets.ts";
import { isHash, type RawSet } from "./params/raw.ts";
import { TOKEN_PARAMETERS } from "./request.ts";

const MAX_NAMES = 10;
const MAX_BYTES = 256;

/** Parameters of the kernel, which every endpoint has. */
const EVERYWHERE = Object.fromEntries([...TOKEN_PARAMETERS, "sudo"].map((name) => [name, Type.Unknown()]));

/** Marks a parameter that clients send and no handler reads; a request that has it is told so. */
export const UNUSED = { "x-unused": true } as const;
const isUnused = (schema: TSchema) => "x-unused" in schema;

/** Whether this looks like the name of a parameter; anything else may be a value, and is not repeated. */
const isName = (text: string) => /^[a-z][\w-]{0,63}$/i.test(text) && !hasSecret(text);

type Finder = (value: unknown, place: (key: string) => string) => readonly string[];

/**
 * Returns a function that finds the parameters of a request that an endpoint does not have, or has and never uses, as
 * many as are named. A key inside an object is named like `platform[kind]`.
 */
export function ignoredParameters({ properties }: TObject): (raw: RawSet) => readonly string[] {
  const find = finderOf(Type.Object({ ...properties, ...EVERYWHERE }));
  return (raw) => find?.(raw, (key) => key).slice(0, MAX_NAMES) ?? [];
}

/** Undefined for values in which nothing has a name that the schema knows. */
function finderOf(schema: TSchema): Finder | undefined {
  if (Type.IsArray(schema)) return itemFinder(schema.items);
  if (Type.IsUnion(schema)) return schema.anyOf.map(finderOf).find((finder) => finder !== undefined);
  return Type.IsObject(schema) ? objectFinder(schema.properties) : undefined;
}

function objectFinder(properties: TProperties): Finder {
  const known = new Map(
    Object.entries(properties).flatMap(([key, schema]) => (isUnused(schema) ? [] : [[key, finderOf(schema)]])),
  );
  return (value, place) => {
    if (!isHash(value)) return [];
    const ignored: string[] = [];
    for (const key of Object.keys(value)) {
      const name = place(key);
      if (known.has(key)) ignored.push(...(known.get(key)?.(value[key], (inner) => `${name}[${inner}]`) ?? []));
      else if (isName(key)) ignored.push(name);
      if (ignored.length >= MAX_NAMES) break;
    }
    return ignored;
  };
}

/** Of a list, only the first item is looked at: the others are of the same kind. */
function itemFinder(items: TSchema): Finder | undefined {
  const find = finderOf(items);
  return find && ((value, place) => (Array.isArray(value) ? find(value[0], place) : []));
}

/** The value of `X-Ignored-Parameters`, as many names as fit. */
export function ignoredHeader(names: ReadonlySet<string>): string {
  const shown = [...names].slice(0, MAX_NAMES);
  while (shown.join(", ").length > MAX_BYTES) shown.pop();
  return shown.join(", ");
}
