import Type, { type Static } from "typebox";
import type { Commit as CommitRead } from "#git/objects/commits.ts";
import { Commit, presentCommit } from "#domains/code/commits/entity.ts";

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

/** The project of a branch, as far as its presentation needs it. */
interface BranchContext {
  readonly defaultBranch: string | null;
  /** Whether the caller may push. */
  readonly canPush: boolean;
  /** The web address of the project. */
  readonly address: string;
}

/** The default branch is protected: whoever may push may only fast-forward it. */
export const presentBranch = (
  { name, commit, merged }: { name: string; commit: CommitRead; merged: boolean },
  { defaultBranch, canPush, address }: BranchContext,
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
