import type { Static } from "typebox";
import type { Action } from "#git/writing/plan.ts";
import { createCommit } from "#domains/code/commits/actions.ts";
import { authorOf } from "#domains/code/commits/params.ts";
import type { CodeWriteRequest } from "#domains/code/repository/writing.ts";
import type { FileRemoval } from "./params.ts";

/** Commits a change of one file. */
export async function commitFile(writing: CodeWriteRequest, params: Static<typeof FileRemoval>, action: Action) {
  const { file_path, branch, start_branch, last_commit_id } = params;
  await createCommit(writing, {
    branch,
    start: start_branch === undefined ? undefined : { branch: start_branch },
    force: false,
    message: params.commit_message,
    author: authorOf(params),
    actions: [action],
    unchanged: last_commit_id === undefined ? [] : [{ path: file_path, since: last_commit_id }],
  });
  return { file_path, branch };
}
