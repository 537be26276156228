import { isRemoval, type RefChange } from "#git/push-commands.ts";
import { isBranchName } from "#lib/branch-names.ts";
import { ONLY_BRANCH } from "#domains/storage/repositories/location.ts";
import type { RepositoryAccess } from "./access.ts";

/** A ref is a file, written through a `.lock` file whose name is five bytes longer; file systems allow 255 bytes. */
const MAX_NAME_PART_BYTES = 250;

/** Who pushes, and to the repository of what. */
export type Pusher = Pick<RepositoryAccess, "principal" | "kind" | "owner">;

/** Returns, by ref, why changes are refused without looking at their objects. */
export function refusedChanges(pusher: Pusher, changes: readonly RefChange[]): Map<string, string> {
  const refused = new Map<string, string>();
  for (const change of changes) {
    const problem = problemOf(pusher, change);
    if (problem !== undefined) refused.set(change.ref, problem);
  }
  return refused;
}

function problemOf(pusher: Pusher, change: RefChange): string | undefined {
  const name = shortName(change.ref);
  if (name === undefined) return "only branches (refs/heads/) and tags (refs/tags/) can be pushed";
  const problem = pusher.kind.problemOf?.(change);
  if (problem !== undefined) return problem;
  if (isRemoval(change)) {
    const isProtected = isDefaultBranch(pusher, change.ref) && !mayRewrite(pusher);
    return isProtected ? "you are not allowed to delete the default branch" : undefined;
  }
  if (!isBranchName(name)) return "the name is not allowed";
  if (name.split("/").some((part) => Buffer.byteLength(part) > MAX_NAME_PART_BYTES)) {
    return `a part of the name is longer than ${MAX_NAME_PART_BYTES} bytes`;
  }
  // It would be ambiguous with a commit.
  if (/^[0-9a-f]{40}$/i.test(name)) return "a name must not look like the id of a commit";
  return name.startsWith("refs/") ? "a name must not begin with refs/" : undefined;
}

/** The rule of repositories with one branch and no tags. */
export const onlyBranchProblem =
  (thing: string) =>
  (change: RefChange): string | undefined => {
    if (change.ref !== `refs/heads/${ONLY_BRANCH}`) return `a ${thing} has only the branch ${ONLY_BRANCH}`;
    return isRemoval(change) ? `a ${thing} must have the branch ${ONLY_BRANCH}` : undefined;
  };

/** The branches among the changes that only fast-forward: the default branch, unless the pusher may rewrite it. */
export const forwardOnly = (pusher: Pusher, changes: readonly RefChange[]): string[] =>
  mayRewrite(pusher) ? [] : changes.map(({ ref }) => ref).filter((ref) => isDefaultBranch(pusher, ref));

const mayRewrite = ({ principal, kind, owner }: Pusher) => kind.mayRewrite(principal, owner);

function isDefaultBranch({ owner }: Pusher, ref: string): boolean {
  return owner.default_branch !== null && sameFile(ref, `refs/heads/${owner.default_branch}`);
}

/** Refs are files, and some file systems ignore case or Unicode normalization. */
const sameFile = (one: string, other: string) => folded(one) === folded(other);
const folded = (name: string) => name.normalize("NFC").toLowerCase();

/** The name of a branch or tag without its prefix; undefined for other refs. */
const shortName = (ref: string): string | undefined =>
  /^refs\/(?:heads|tags)\/(?<name>.+)$/s.exec(ref)?.groups?.["name"];
