import type { Static, TObject, TSchema } from "typebox";

/** What may be chosen, and what it is where nobody chose. */
interface Choice {
  readonly schema: TSchema;
  readonly fallback: unknown;
}

/** The fields, parameters and values of what people choose and clients read back, from one list of choices. */
export function preferencesOf<Choices extends Readonly<Record<string, Choice>>>(choices: Choices) {
  type Fields = { [Name in keyof Choices]: Choices[Name]["schema"] };
  const names = Object.keys(choices);
  const mapped = (value: (name: string, choice: Choice) => unknown) =>
    Object.fromEntries(Object.entries(choices).map(([name, choice]) => [name, value(name, choice)]));
  return {
    /** The fields of an answer that show them all. */
    fields: mapped((_, { schema }) => schema) as Fields,
    /** Everything chosen and, where nothing was, what then counts. */
    present: (stored: unknown) =>
      mapped((name, { fallback }) => (stored as Record<string, unknown>)[name] ?? fallback) as Static<TObject<Fields>>,
    /** What is to be stored of what was given. */
    chosen: (given: Readonly<Record<string, unknown>>): Record<string, unknown> =>
      Object.fromEntries(names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]))),
  };
}
