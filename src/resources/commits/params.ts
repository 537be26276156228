import Type from "typebox";
import { DateTime, Flag } from "#http/params/vocabulary.ts";
import { ProjectId } from "#resources/projects/params.ts";

/** A branch, a tag or the id of a commit. */
export const Revision = Type.String({ maxLength: 1024, description: "A branch, a tag or a commit" });
export const FilePath = Type.String({ maxLength: 4096 });

export const CommitFilters = Type.Object({
  ...ProjectId.properties,
  ref_name: Type.Optional(Revision),
  since: Type.Optional(DateTime),
  until: Type.Optional(DateTime),
  path: Type.Optional(FilePath),
  author: Type.Optional(Type.String({ maxLength: 255, description: "Part of the author's name or address" })),
  all: Type.Optional(Type.Boolean({ description: "Of all branches and tags" })),
  with_stats: Type.Optional(Type.Boolean({ description: "Also how many lines each changed" })),
  first_parent: Type.Optional(Type.Boolean({ description: "Only the first parent of each" })),
  order: Type.Optional(Type.Enum(["default", "topo"], { description: "`topo` tells parents after their children" })),
  trailers: Type.Optional(Type.Boolean({ description: "Also the trailers of messages" })),
});

export const CommitId = Type.Object({ ...ProjectId.properties, sha: Revision });

export const CommitView = Type.Object({ ...CommitId.properties, stats: Type.Boolean({ default: true }) });

export const DiffView = Type.Object({ ...CommitId.properties, unidiff: Flag });

export const RefFilters = Type.Object({
  ...CommitId.properties,
  type: Type.Enum(["branch", "tag", "all"], { default: "all" }),
});

export const SequenceView = Type.Object({ ...CommitId.properties, first_parent: Flag });
