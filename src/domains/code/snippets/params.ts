import Type, { type Static, type TProperties } from "typebox";
import { DateTime, Id, Line, Nullable, Text } from "#http/params/vocabulary.ts";
import { Content, FilePath, Revision } from "#domains/code/commits/params.ts";
import { VisibilityName } from "#domains/organization/projects/entity.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";

const MAX_FILES = 10;
const Path = Text(255);
/** As long as the database accepts. */
const MAX_DESCRIPTION = 20_000;

/** What names a snippet by itself, and below its project. */
export const byItself = { id: Id };
export const inItsProject = { ...ProjectId.properties, snippet_id: Id };

const filters = {
  created_after: Type.Optional(DateTime),
  created_before: Type.Optional(DateTime),
};

export const SnippetFilters = Type.Object(filters);
export type SnippetFilters = Static<typeof SnippetFilters>;

export const AllSnippetFilters = Type.Object({
  ...filters,
  repository_storage: Type.Optional(Type.String({ maxLength: 255, description: "For administrators" })),
});

/** The file of a snippet at a commit. */
export const file = { ref: Revision, file_path: FilePath };

const details = {
  description: Type.Optional(Nullable(Type.String({ maxLength: MAX_DESCRIPTION }))),
  visibility: Type.Optional(VisibilityName),
};

/** The only file, without `files`. */
const onlyFile = {
  file_name: Type.Optional(Path),
  content: Type.Optional(Content),
};

const newSnippet = {
  title: Line(255),
  ...details,
  ...onlyFile,
  files: Type.Optional(
    Type.Array(Type.Object({ file_path: Path, content: Content }), { minItems: 1, maxItems: MAX_FILES }),
  ),
};

const mutuallyExclusive = [
  ["files", "file_name"],
  ["files", "content"],
];
const FILES_OR_ONE = {
  mutuallyExclusive,
  atLeastOneOf: [["files", "content"]],
  allOrNoneOf: [["file_name", "content"]],
};

export const NewPersonalSnippet = Type.Object(newSnippet, FILES_OR_ONE);
export const NewProjectSnippet = Type.Object({ ...ProjectId.properties, ...newSnippet }, FILES_OR_ONE);
export type NewSnippet = Static<typeof NewPersonalSnippet>;

const FileChange = Type.Object({
  action: Type.Enum(["create", "update", "delete", "move"]),
  file_path: Type.Optional(Path),
  previous_path: Type.Optional(Path),
  content: Type.Optional(Content),
});
export type FileChange = Static<typeof FileChange>;

const changes = {
  title: Type.Optional(Line(255)),
  ...details,
  ...onlyFile,
  files: Type.Optional(Type.Array(FileChange, { minItems: 1, maxItems: MAX_FILES })),
};
const Changes = Type.Object(changes);
export type SnippetChanges = Static<typeof Changes>;
const SOMETHING = { mutuallyExclusive, atLeastOneOf: [Object.keys(changes)] };

/** The changes of a snippet that these parameters name. */
export const changesOf = <Names extends TProperties>(names: Names) => Type.Object({ ...names, ...changes }, SOMETHING);
