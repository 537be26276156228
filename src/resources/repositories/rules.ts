import { hasRole } from "#access/containers.ts";
import { isRemoval, type RefChange } from "#git/push-commands.ts";
import { isBranchName } from "#lib/branch-names.ts";
import { actorOf } from "./caller.ts";
import type { Opened } from "./opening.ts";

/** A ref is a file, and while it is written one whose name is five bytes longer; 255 are what file systems take. */
const MOST_OF_PART = 250;

/** Who changes refs, and in which project. */
export type Changing = Pick<Opened, "caller" | "project">;

/** Why changes are refused by what they say of themselves, by the names of their refs. */
export function refusedChanges(changing: Changing, changes: readonly RefChange[]): Map<string, string> {
  const refused = new Map<string, string>();
  for (const change of changes) {
    const problem = problemOf(changing, change);
    if (problem !== undefined) refused.set(change.ref, problem);
  }
  return refused;
}

function problemOf(changing: Changing, change: RefChange): string | undefined {
  const name = shortName(change.ref);
  if (name === undefined) return "only branches (refs/heads/) and tags (refs/tags/) can be pushed";
  if (isRemoval(change)) {
    const kept = isDefaultBranch(changing, change.ref) && !isMaintainer(changing);
    return kept ? "you are not allowed to delete the default branch" : undefined;
  }
  if (!isBranchName(name)) return "the name is not allowed";
  if (name.split("/").some((part) => Buffer.byteLength(part) > MOST_OF_PART)) {
    return `a part of the name is longer than ${MOST_OF_PART} bytes`;
  }
  // Whoever names it could mean another thing.
  if (/^[0-9a-f]{40}$/i.test(name)) return "a name must not look like the id of a commit";
  return name.startsWith("refs/") ? "a name must not begin with refs/" : undefined;
}

/** Which of the changed branches may only move forward: for whoever is no Maintainer, the default branch. */
export const forwardOnly = (changing: Changing, changes: readonly RefChange[]): string[] =>
  isMaintainer(changing) ? [] : changes.map(({ ref }) => ref).filter((ref) => isDefaultBranch(changing, ref));

/** A deploy key may at most what a Developer may. */
const isMaintainer = ({ caller, project }: Changing) =>
  caller.kind === "user" && hasRole(actorOf(caller), project, "maintainer");

function isDefaultBranch({ project }: Changing, ref: string): boolean {
  return project.default_branch !== null && sameFile(ref, `refs/heads/${project.default_branch}`);
}

/** Some file systems take two ways to write a name for one, and a ref is a file. */
const sameFile = (one: string, other: string) => folded(one) === folded(other);
const folded = (name: string) => name.normalize("NFC").toLowerCase();

/** The name of a branch or tag without what stands before it in full; of other refs undefined. */
const shortName = (ref: string): string | undefined =>
  /^refs\/(?:heads|tags)\/(?<name>.+)$/s.exec(ref)?.groups?.["name"];
