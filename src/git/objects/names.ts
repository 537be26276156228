import { isObjectId, isRefName } from "#git/refs.ts";
import type { Repository } from "#git/storages/storage.ts";

/**
 * The commit that a person names: a branch, a tag, either in full, or an id of at least seven digits; of a branch and a
 * tag of one name it is the branch. What git would take for anything else, such as `main@{1}`, names nothing.
 */
export async function resolveCommit(repository: Repository, name: string): Promise<string | undefined> {
  const found = await Promise.all(candidates(name).map((full) => repository.objects.info(`${full}^{commit}`)));
  return found.find((info) => info !== undefined)?.id;
}

function candidates(name: string): string[] {
  const id = name.toLowerCase();
  if (isObjectId(id)) return [id];
  if (name === "HEAD") return [name];
  const whole = /^refs\/(?:heads|tags)\//.test(name) ? [name] : [];
  const refs = [...whole, `refs/heads/${name}`, `refs/tags/${name}`].filter(isRefName);
  return isShortId(id) ? [...refs, id] : refs;
}

/** Whether a text names an object by its id, or by so much of it that no other is meant. */
export const isShortId = (text: string) => /^[0-9a-f]{7,40}$/i.test(text);

/** A path in a tree, as a person may write it: slashes around it do not count. Undefined for what no tree holds. */
export function treePath(text: string): string | undefined {
  const all = text.split("/");
  const parts = all.slice(
    all.findIndex((part) => part !== ""),
    all.findLastIndex((part) => part !== "") + 1,
  );
  const wrong = parts.some((part) => part === "" || part === "." || part === ".." || part.includes("\0"));
  return wrong ? undefined : parts.join("/");
}
