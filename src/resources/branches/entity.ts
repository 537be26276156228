import Type, { type Static } from "typebox";
import type { Commit as CommitRead } from "#git/objects/commits.ts";
import { Commit, presentCommit } from "#resources/commits/entity.ts";

const exact = { additionalProperties: false };

export const Branch = Type.Object(
  {
    name: Type.String(),
    commit: Commit,
    merged: Type.Boolean(),
    protected: Type.Boolean(),
    developers_can_push: Type.Boolean(),
    developers_can_merge: Type.Boolean(),
    can_push: Type.Boolean(),
    default: Type.Boolean(),
    web_url: Type.String(),
  },
  { ...exact, title: "Branch" },
);

/** What is known of all branches of a project. */
interface AroundBranches {
  readonly defaultBranch: string | null;
  /** Whether the caller may push. */
  readonly canPush: boolean;
  /** Where people look at the project. */
  readonly address: string;
}

/** The default branch is protected: everybody may move it forward who may push, and nothing else. */
export const presentBranch = (
  { name, commit, merged }: { name: string; commit: CommitRead; merged: boolean },
  { defaultBranch, canPush, address }: AroundBranches,
): Static<typeof Branch> => {
  const isDefault = name === defaultBranch;
  return {
    name,
    commit: presentCommit(commit, address),
    merged,
    protected: isDefault,
    developers_can_push: isDefault,
    developers_can_merge: isDefault,
    can_push: canPush,
    default: isDefault,
    web_url: `${address}/-/tree/${encodeURI(name)}`,
  };
};
