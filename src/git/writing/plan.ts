import { invalid } from "#lib/refusal.ts";
import { type Change, DIRECTORY, type Entry, EXECUTABLE, FILE } from "./importing.ts";
import { directoriesOf, pathProblem } from "./paths.ts";
import { isReadByGit, textProblem } from "./read-by-git.ts";

const LINK = "120000";
const SUBMODULE = "160000";

/** One step of what a commit shall do, as callers say it; each sees what those before it did. */
export type Action =
  | { readonly action: "create"; readonly path: string; readonly content: Buffer; readonly executable: boolean }
  | { readonly action: "update"; readonly path: string; readonly content: Buffer; readonly executable?: boolean }
  | {
      readonly action: "move";
      readonly path: string;
      readonly from: string;
      /** Left out, the file keeps what it holds. */
      readonly content?: Buffer;
      readonly executable?: boolean;
    }
  | { readonly action: "delete"; readonly path: string }
  | { readonly action: "chmod"; readonly path: string; readonly executable: boolean };

type Planned = { readonly mode: string; readonly content: Buffer } | Entry;

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** Every path that actions name. */
export const pathsOf = (actions: readonly Action[]): string[] => [
  ...new Set(actions.flatMap((action) => (action.action === "move" ? [action.from, action.path] : [action.path]))),
];

/** Refuses what no commit may hold, before git is asked about it. */
export function checkActions(actions: readonly Action[]) {
  for (const path of pathsOf(actions)) {
    const problem = pathProblem(path);
    if (problem !== undefined) throw invalid(`file_path ${problem}`);
  }
  for (const action of actions) {
    if (!isReadByGit(action.path) || action.action === "delete" || action.action === "chmod") continue;
    const name = nameOf(action.path);
    if (action.action === "move" && action.content === undefined && nameOf(action.from) !== name) {
      throw invalid(`${name} must come with its content`);
    }
    const problem = action.content && textProblem(action.path, action.content);
    if (problem !== undefined) throw invalid(`${name} ${problem}`);
  }
}

/** What actions come to, given what stands at their paths; refused with the first that cannot be done. */
export function planOf(actions: readonly Action[], before: ReadonlyMap<string, Entry>): Change[] {
  const after = new Map<string, Planned | undefined>();
  const at = (path: string): Planned | undefined => (after.has(path) ? after.get(path) : before.get(path));

  const fileAt = (path: string): Planned => {
    const found = at(path);
    if (!found || found.mode === DIRECTORY) throw invalid("A file with this name doesn't exist");
    return found;
  };

  const placeFor = (path: string) => {
    const found = at(path);
    if (found?.mode === DIRECTORY || hasBeneath(after, path)) {
      throw invalid("A directory with this name already exists");
    }
    if (found) throw invalid("A file with this name already exists");
    for (const directory of directoriesOf(path)) {
      const above = at(directory);
      if (above && above.mode !== DIRECTORY) {
        throw invalid("A file stands where the path has a directory");
      }
    }
  };

  for (const action of actions) {
    const { path } = action;
    switch (action.action) {
      case "create":
        placeFor(path);
        after.set(path, { mode: action.executable ? EXECUTABLE : FILE, content: action.content });
        break;
      case "update":
        after.set(path, rewritten(fileAt(path), action));
        break;
      case "chmod":
        after.set(path, rewritten(fileAt(path), action));
        break;
      case "delete":
        fileAt(path);
        after.set(path, undefined);
        break;
      case "move": {
        const moved = fileAt(action.from);
        after.set(action.from, undefined);
        placeFor(path);
        after.set(path, rewritten(moved, action));
        break;
      }
    }
  }
  return [...after].flatMap(([path, planned]): Change[] => {
    if (planned) return [{ path, ...planned }];
    return before.has(path) ? [{ path, mode: undefined }] : [];
  });
}

const hasBeneath = (after: ReadonlyMap<string, Planned | undefined>, path: string) =>
  after.entries().some(([other, planned]) => planned !== undefined && other.startsWith(`${path}/`));

/** A file with another content, or run otherwise; a link stays one, and a submodule is not for writing. */
function rewritten(file: Planned, { content, executable }: { content?: Buffer; executable?: boolean }): Planned {
  const changes = content !== undefined || executable !== undefined;
  if (changes && (file.mode === SUBMODULE || (executable !== undefined && file.mode === LINK))) {
    throw invalid("This is not a regular file");
  }
  const mode = executable === undefined ? file.mode : executable ? EXECUTABLE : FILE;
  return content === undefined ? { ...file, mode } : { mode, content };
}
