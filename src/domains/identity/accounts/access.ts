import { type Access, anyone } from "#access/access.ts";

/** Anyone who has the link in a mail; a session in the same browser is ignored. */
export const holderOfLink = (): Access<object> => ({ ...anyone(), signsIn: true });
