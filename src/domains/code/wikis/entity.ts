import Type, { type Static } from "typebox";
import { FORMATS, type PageFile } from "./formats.ts";

/** Content that is not UTF-8 is shown with replacement characters. */
const ENCODING = "UTF-8";

const page = {
  format: Type.Enum(Object.keys(FORMATS)),
  slug: Type.String({ description: "The path of the page without the ending of its file" }),
  title: Type.String(),
};
const content = {
  content: Type.String(),
  encoding: Type.String(),
};

export const WikiPage = Type.Object({ ...page, ...content }, { additionalProperties: false, title: "WikiPage" });
export type WikiPage = Static<typeof WikiPage>;

/** A page of a list, where only `with_content` brings the content. */
export const ListedWikiPage = Type.Object(
  { ...page, ...Type.Partial(Type.Object(content)).properties },
  { additionalProperties: false, title: "ListedWikiPage" },
);

type ListedWikiPage = Static<typeof ListedWikiPage>;

export const presentListedPage = ({ format, slug, title }: PageFile): ListedWikiPage => ({ format, slug, title });

export const presentPage = (page: PageFile, content: string): WikiPage => ({
  ...presentListedPage(page),
  content,
  encoding: ENCODING,
});
