import { isObjectId, isRefName } from "#git/refs.ts";
import type { Repository } from "#git/storages/storage.ts";

/**
 * Resolves a branch, a tag, either as a full ref, or an id of at least seven digits to a commit; a branch wins over a
 * tag of the same name. Other revision syntax of git, such as `main@{1}`, resolves to nothing.
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

/** Whether a text is an object id or an abbreviation of one. */
export const isShortId = (text: string) => /^[0-9a-f]{7,40}$/i.test(text);

/** Normalizes a path in a tree: surrounding slashes are dropped. Undefined if no tree can hold it. */
export function treePath(text: string): string | undefined {
  const all = text.split("/");
  const parts = all.slice(
    all.findIndex((part) => part !== ""),
    all.findLastIndex((part) => part !== "") + 1,
  );
  const wrong = parts.some((part) => part === "" || part === "." || part === ".." || part.includes("\0"));
  return wrong ? undefined : parts.join("/");
}
