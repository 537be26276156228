import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { GitCall } from "#git/process.ts";
import type { PlumbingCall, Running } from "./storage.ts";

/** What the operations on a repository in a directory need. */
export interface Local {
  readonly storage: string;
  /** The directory of the storage. */
  readonly root: string;
  /** The directory of the repository. */
  readonly directory: string;
  start(call: GitCall): Promise<Running>;
  run(call: PlumbingCall): Promise<Running>;
}

/** A new path for a repository that is being created or removed. */
export const temporaryPath = ({ root }: Pick<Local, "root">) => join(root, "tmp", randomUUID());

/** Runs git to its end and discards its output. */
export async function finish({ start }: Pick<Local, "start">, call: GitCall) {
  const git = await start(call);
  git.output.resume();
  await git.ended;
}
