/** The formats of pages, each with the endings of its files; new pages get the first. */
export const FORMATS = {
  markdown: ["md", "markdown"],
  rdoc: ["rdoc"],
  asciidoc: ["asciidoc", "adoc"],
  org: ["org"],
} as const;
export type Format = keyof typeof FORMATS;

const FORMAT_OF = new Map(
  Object.entries(FORMATS).flatMap(([format, endings]) => endings.map((ending) => [ending as string, format as Format])),
);

/** What the path of a file says of a page; undefined if it is none. */
export interface PageFile {
  readonly path: string;
  readonly slug: string;
  readonly title: string;
  readonly format: Format;
}

export function pageFile(path: string): PageFile | undefined {
  const dot = path.lastIndexOf(".");
  const format = FORMAT_OF.get(path.slice(dot + 1).toLowerCase());
  const slug = path.slice(0, dot);
  if (!format || slug === "" || slug.endsWith("/")) return undefined;
  return { path, slug, title: slug.slice(slug.lastIndexOf("/") + 1).replaceAll("-", " "), format };
}

/** The path of a page without its ending: a title may name directories. */
export const slugOf = (title: string): string =>
  title
    .trim()
    .replaceAll(/\s+/g, "-")
    .replaceAll(/^\/+|\/+$/g, "");

export const pathFor = (slug: string, format: Format): string => `${slug}.${FORMATS[format][0]}`;
