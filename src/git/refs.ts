import { isBranchName } from "#lib/branch-names.ts";

/** The id that stands for a missing ref. */
export const ZERO_ID = "0".repeat(40);

export const isObjectId = (text: string) => /^[0-9a-f]{40}$/.test(text);

/** Whether a full ref, such as `refs/heads/main`, is valid by the rules of `git check-ref-format`. */
export const isRefName = (name: string) =>
  name.startsWith("refs/") && name.split("/").length >= 3 && name.length <= 1024 && isBranchName(name);
