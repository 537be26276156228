import Type from "typebox";

export const NameSearch = Type.String({
  maxLength: 255,
  description: "Part of the name; `^` before it is its beginning, `$` behind it its end",
});

/** Whether a name is looked for, in small or capital letters; everything is if nothing is. */
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
