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

/** Checks what was sent, `source`, and what is left of it for the handler, `params`. */
type Check = (source: RawSet, params: RawSet, place: (key: string) => string, problems: string[]) => void;

const isGiven = (value: unknown) => value !== undefined && value !== null && value !== "";

/** One check of a group: `broken` gets the keys that were sent, and returns those to report, or none if all is well. */
function groupCheck(keys: readonly string[], text: string, broken: (given: string[]) => readonly string[]): Check {
  return (source, _params, place, problems) => {
    const named = broken(keys.filter((key) => isGiven(source[key])));
    if (named.length > 0) note(problems, named.map(place).join(", "), text);
  };
}

/** An empty text or null counts where it is a value of the parameter: it has its own reason to be refused, or none. */
const atLeastOne =
  (keys: readonly string[]): Check =>
  (source, params, place, problems) => {
    if (keys.some((key) => isGiven(source[key]) || params[key] !== undefined)) return;
    note(problems, keys.map(place).join(", "), "are missing, at least one parameter must be provided");
  };

/** A group loses the parameters that this installation does not offer, so a name that the schema lacks is no error. */
export function compileRules(schema: TObject & Rules): readonly Check[] {
  const known = (groups: Groups = []) =>
    groups.map((keys) => keys.filter((key) => schema.properties[key] !== undefined));
  return [
    ...known(schema.atLeastOneOf).map(atLeastOne),
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
