import type { TObject } from "typebox";
import type { RawSet } from "./raw.ts";
import { note } from "./scalars.ts";

type Groups = readonly (readonly string[])[];

/** Keywords of an object schema about several parameters at once. */
interface Rules {
  readonly atLeastOneOf?: Groups;
  readonly allOrNoneOf?: Groups;
  readonly mutuallyExclusive?: Groups;
}

type Check = (source: RawSet, place: (key: string) => string, problems: string[]) => void;

const isGiven = (value: unknown) => value !== undefined && value !== null && value !== "";

/** One check of a group: `broken` gets the given keys, and answers with those to name, or nothing when all is well. */
function groupCheck(keys: readonly string[], text: string, broken: (given: string[]) => readonly string[]): Check {
  return (source, place, problems) => {
    const named = broken(keys.filter((key) => isGiven(source[key])));
    if (named.length > 0) note(problems, named.map(place).join(", "), text);
  };
}

/** A group loses the parameters that this installation does not offer, so a name that the schema lacks is no error. */
export function compileRules(schema: TObject & Rules): readonly Check[] {
  const known = (groups: Groups = []) =>
    groups.map((keys) => keys.filter((key) => schema.properties[key] !== undefined));
  return [
    ...known(schema.atLeastOneOf).map((keys) =>
      groupCheck(keys, "are missing, at least one parameter must be provided", (given) =>
        given.length === 0 ? keys : [],
      ),
    ),
    ...known(schema.allOrNoneOf).map((keys) =>
      groupCheck(keys, "provide all or none of parameters", (given) =>
        given.length > 0 && given.length < keys.length ? keys : [],
      ),
    ),
    ...known(schema.mutuallyExclusive).map((keys) =>
      groupCheck(keys, "are mutually exclusive", (given) => (given.length > 1 ? given : [])),
    ),
  ];
}
