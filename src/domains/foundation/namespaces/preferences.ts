import type { Static, TObject, TSchema } from "typebox";

/** The allowed values of a preference and its default. */
interface Choice {
  readonly schema: TSchema;
  readonly fallback: unknown;
}

/** Derives answer fields, parameters and stored values from one list of preferences. */
export function preferencesOf<Choices extends Readonly<Record<string, Choice>>>(choices: Choices) {
  type Fields = { [Name in keyof Choices]: Choices[Name]["schema"] };
  const names = Object.keys(choices);
  const mapped = (value: (name: string, choice: Choice) => unknown) =>
    Object.fromEntries(Object.entries(choices).map(([name, choice]) => [name, value(name, choice)]));
  return {
    /** The answer fields for all preferences. */
    fields: mapped((_, { schema }) => schema) as Fields,
    /** The stored values, with defaults for those that were never set. */
    present: (stored: unknown) =>
      mapped((name, { fallback }) => (stored as Record<string, unknown>)[name] ?? fallback) as Static<TObject<Fields>>,
    /** The preferences among some parameters, to be stored. */
    chosen: (given: Readonly<Record<string, unknown>>): Record<string, unknown> =>
      Object.fromEntries(names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]))),
  };
}
