import Type from "typebox";

export const NameSearch = Type.String({
  maxLength: 255,
  description: "Part of the name; `^term` matches its beginning, `term$` its end",
});

/** Returns a case-insensitive matcher of names; undefined matches everything. */
export function nameMatcher(search: string | undefined): ((name: string) => boolean) | undefined {
  if (!search) return undefined;
  const begins = search.startsWith("^");
  const ends = search.endsWith("$");
  const part = search.slice(begins ? 1 : 0, ends ? -1 : undefined).toLowerCase();
  return (name) => {
    const small = name.toLowerCase();
    if (begins && ends) return small === part;
    if (begins) return small.startsWith(part);
    return ends ? small.endsWith(part) : small.includes(part);
  };
}
