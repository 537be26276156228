import Type from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { Commit, Diff } from "#domains/code/commits/entity.ts";

const exact = { additionalProperties: false };

export const Comparison = Type.Object(
  {
    commit: Nullable(Commit),
    commits: Type.Array(Commit),
    diffs: Type.Array(Diff),
    compare_timeout: Type.Boolean({ description: "Whether some differences are left out" }),
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
