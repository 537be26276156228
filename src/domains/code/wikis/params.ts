import Type, { type Static } from "typebox";
import { Line } from "#http/params/vocabulary.ts";
import { FilePath, Revision } from "#domains/code/commits/params.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { FORMATS } from "./formats.ts";

/** A page is read, written and compared as one text. */
const MAX_CONTENT = 2 * 1024 * 1024;

const Format = Type.Optional(Type.Enum(Object.keys(FORMATS)));
const Content = Type.String({ maxLength: MAX_CONTENT });
const slug = { ...ProjectId.properties, slug: FilePath };

export const PageFilters = Type.Object({
  ...ProjectId.properties,
  with_content: Type.Optional(Type.Boolean({ description: "Include the content of pages" })),
});

export const PageOfVersion = Type.Object({
  ...slug,
  version: Type.Optional(Revision),
});

export const NewPage = Type.Object({ ...ProjectId.properties, title: Line(255), content: Content, format: Format });
export type NewPage = Omit<Static<typeof NewPage>, "id">;

export const PageChanges = Type.Object(
  { ...slug, title: Type.Optional(Line(255)), content: Type.Optional(Content), format: Format },
  { atLeastOneOf: [["title", "content", "format"]] },
);
export type PageChanges = Omit<Static<typeof PageChanges>, "id">;

export const PageSlug = Type.Object(slug);
