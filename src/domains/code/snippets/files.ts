import { type Action, checkActions } from "#git/writing/plan.ts";
import { badRequest, badParameter } from "#lib/refusal.ts";
import { bytesOf } from "#domains/code/commits/params.ts";
import type { FileChange, NewSnippet, SnippetChanges } from "./params.ts";

const ONLY_FILE = "snippetfile1.txt";

/** The files of a new snippet, as the actions of its first commit. */
export function firstActions({ files, file_name, content }: NewSnippet): Action[] {
  const given = files ?? [{ file_path: file_name ?? ONLY_FILE, content: content ?? "" }];
  const actions = given.map(({ file_path, content }): Action => created(file_path, content));
  checkActions(actions);
  return actions;
}

const created = (path: string, content: string): Action => ({
  action: "create",
  path,
  content: bytesOf(content, "text"),
  executable: false,
});

/** The changes of files that a request asks for. */
export function actionsOf({ files, file_name, content }: SnippetChanges, names: readonly string[]): Action[] {
  const actions = files ? files.map(actionOf) : changesOfOnlyFile(file_name, content, names);
  checkActions(actions);
  const left = actions.reduce(
    (count, { action }) => count + (action === "create" ? 1 : action === "delete" ? -1 : 0),
    names.length,
  );
  if (actions.length > 0 && left < 1) throw badRequest("400 Bad request - A snippet must have at least one file");
  return actions;
}

/** Without `files`, a request is about the only file. */
function changesOfOnlyFile(
  fileName: string | undefined,
  content: string | undefined,
  names: readonly string[],
): Action[] {
  if (fileName === undefined && content === undefined) return [];
  const [from, ...others] = names;
  if (others.length > 0) {
    throw badRequest("400 Bad request - To update a snippet with several files, use the files parameter");
  }
  if (from === undefined) return [created(fileName ?? ONLY_FILE, content ?? "")];
  const bytes = content !== undefined && { content: bytesOf(content, "text") };
  if (fileName !== undefined && fileName !== from) return [{ action: "move", path: fileName, from, ...bytes }];
  return bytes ? [{ action: "update", path: from, ...bytes }] : [];
}

function actionOf(change: FileChange, index: number): Action {
  const need = (name: "file_path" | "previous_path" | "content"): string => {
    const value = change[name];
    if (value === undefined) throw badParameter(`files[${index}][${name}] is missing`);
    return value;
  };
  const bytes = () => bytesOf(need("content"), "text");
  switch (change.action) {
    case "create":
      return created(need("file_path"), need("content"));
    case "update":
      return { action: "update", path: need("file_path"), content: bytes() };
    case "delete":
      return { action: "delete", path: need("file_path") };
    case "move": {
      const content = change.content !== undefined && { content: bytes() };
      return { action: "move", path: need("file_path"), from: need("previous_path"), ...content };
    }
  }
}
