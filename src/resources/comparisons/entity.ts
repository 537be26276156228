import Type from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { Commit, DiffOfFile } from "#resources/commits/entity.ts";

const exact = { additionalProperties: false };

export const Comparison = Type.Object(
  {
    commit: Nullable(Commit),
    commits: Type.Array(Commit),
    diffs: Type.Array(DiffOfFile),
    compare_timeout: Type.Boolean({ description: "Whether not all that differs is told" }),
    compare_same_ref: Type.Boolean(),
    web_url: Type.String(),
  },
  { ...exact, title: "Comparison" },
);

export const Contributor = Type.Object(
  {
    name: Type.String(),
    email: Type.String(),
    commits: Type.Integer(),
    additions: Type.Integer(),
    deletions: Type.Integer(),
  },
  { ...exact, title: "Contributor" },
);
