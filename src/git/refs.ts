import { isBranchName } from "#lib/branch-names.ts";

/** Where a ref points that is not there. */
export const ZERO_ID = "0".repeat(40);

export const isObjectId = (text: string) => /^[0-9a-f]{40}$/.test(text);

/** Whether git takes a name in full, such as `refs/heads/main`, by the rules of `git check-ref-format`. */
export const isRefName = (name: string) =>
  name.startsWith("refs/") && name.split("/").length >= 3 && name.length <= 1024 && isBranchName(name);
