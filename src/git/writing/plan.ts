import { invalid } from "#lib/refusal.ts";
import { type Change, DIRECTORY, type Entry, EXECUTABLE, FILE } from "./fast-import.ts";
import { directoriesOf, pathProblem } from "./paths.ts";
import { isReadByGit, contentProblem } from "./special-files.ts";

const LINK = "120000";
const SUBMODULE = "160000";

/** A requested change of one file. Actions apply in order: each sees the result of those before it. */
export type Action =
  | { readonly action: "create"; readonly path: string; readonly content: Buffer; readonly executable: boolean }
  | { readonly action: "update"; readonly path: string; readonly content: Buffer; readonly executable?: boolean }
  | {
      readonly action: "move";
      readonly path: string;
      readonly from: string;
      /** By default the content of the moved file. */
      readonly content?: Buffer;
      readonly executable?: boolean;
    }
  | { readonly action: "delete"; readonly path: string }
  | { readonly action: "chmod"; readonly path: string; readonly executable: boolean };

type Planned = { readonly mode: string; readonly content: Buffer } | Entry;

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** The paths that actions name. */
export const pathsOf = (actions: readonly Action[]): string[] => [
  ...new Set(actions.flatMap((action) => (action.action === "move" ? [action.from, action.path] : [action.path]))),
];

/** Refuses paths and contents that no commit may have, before git starts. */
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
    const problem = action.content && contentProblem(action.path, action.content);
    if (problem !== undefined) throw invalid(`${name} ${problem}`);
  }
}

/** Returns the changes that actions amount to, given the entries at their paths; refuses an impossible action. */
export function planChanges(actions: readonly Action[], before: ReadonlyMap<string, Entry>): Change[] {
  const after = new Map<string, Planned | undefined>();
  const at = (path: string): Planned | undefined => (after.has(path) ? after.get(path) : before.get(path));

  const fileAt = (path: string): Planned => {
    const found = at(path);
    if (!found || found.mode === DIRECTORY) throw invalid("A file with this name doesn't exist");
    return found;
  };

  const refuseTaken = (path: string) => {
    const found = at(path);
    if (found?.mode === DIRECTORY || hasFilesBelow(after, path)) {
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
        refuseTaken(path);
        after.set(path, { mode: action.executable ? EXECUTABLE : FILE, content: action.content });
        break;
      case "update":
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
        refuseTaken(path);
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

const hasFilesBelow = (after: ReadonlyMap<string, Planned | undefined>, path: string) =>
  after.entries().some(([other, planned]) => planned !== undefined && other.startsWith(`${path}/`));

/** A file with new content or another mode. A symbolic link stays one; a submodule cannot be written. */
function rewritten(file: Planned, { content, executable }: { content?: Buffer; executable?: boolean }): Planned {
  const changes = content !== undefined || executable !== undefined;
  if (changes && (file.mode === SUBMODULE || (executable !== undefined && file.mode === LINK))) {
    throw invalid("This is not a regular file");
  }
  const mode = executable === undefined ? file.mode : executable ? EXECUTABLE : FILE;
  return content === undefined ? { ...file, mode } : { mode, content };
}
