import Type, { type Static } from "typebox";
import { type Commit as CommitRead, momentOf, type Tag as TagRead } from "#git/objects/commits.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import { Commit, presentCommit } from "#domains/code/commits/entity.ts";

const exact = { additionalProperties: false };

export const Tag = Type.Object(
  {
    name: Type.String(),
    message: Nullable(Type.String()),
    target: Type.String(),
    commit: Nullable(Commit),
    release: Type.Null(),
    protected: Type.Boolean(),
    created_at: Nullable(Type.String({ format: "date-time" })),
  },
  { ...exact, title: "Tag" },
);

/** Presents a tag with its commit, and its tag object if annotated. `address` is the web address of the project. */
export const presentTag = (
  { name, id, commit, tag }: { name: string; id: string; commit: CommitRead | undefined; tag: TagRead | undefined },
  address: string,
): Static<typeof Tag> => ({
  name,
  message: tag?.message.trimEnd() ?? null,
  target: id,
  commit: commit ? presentCommit(commit, address) : null,
  release: null,
  protected: false,
  created_at: tag?.tagger ? momentOf(tag.tagger) : null,
});
