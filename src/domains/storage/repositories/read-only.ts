import { Refusal } from "#lib/refusal.ts";

/** What a push is told while its repository moves to another storage. */
export const READ_ONLY = "The repository is temporarily read-only. Please try again later.";

export const readOnly = () => new Refusal("forbidden", READ_ONLY);
