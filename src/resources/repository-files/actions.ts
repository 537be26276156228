import type { Static } from "typebox";
import type { Action } from "#git/writing/plan.ts";
import { commitTo } from "#resources/commits/actions.ts";
import { authorOf } from "#resources/commits/write-params.ts";
import type { CodeWriting } from "#resources/repositories/writing.ts";
import type { FileRemoval } from "./write-params.ts";

/** Commits one change of one file. */
export async function commitFile(writing: CodeWriting, params: Static<typeof FileRemoval>, action: Action) {
  const { file_path, branch, start_branch, last_commit_id } = params;
  await commitTo(writing, {
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
