import { DatabaseError } from "pg";
import { badFields, badRequest, conflict, missing, Refusal, unavailable } from "#lib/refusal.ts";

/** What a caller is told when a constraint of this name refuses a row; one that is not here refuses only our bugs. */
const byConstraint: Readonly<Record<string, () => Refusal>> = {
  namespaces_path_taken: () => conflict("Username has already been taken"),
  routes_path_taken: () => badFields({ path: ["has already been taken"] }),
  namespaces_depth: () => badFields({ parent_id: ["is nested too deeply: there can be 20 levels of groups"] }),
  // The group was there a moment ago and was removed by someone else.
  namespaces_parent_id_fkey: () => missing("Group"),
  shares_group_id_fkey: () => missing("Group"),
  shares_with_group_id_fkey: () => missing("Group"),
  users_username_taken: () => conflict("Username has already been taken"),
  users_email_taken: () => conflict("Email has already been taken"),
  users_public_email_taken: () => badFields({ public_email: ["has already been taken"] }),
  emails_email_taken: () => conflict("Email has already been taken"),
  identities_extern_uid_taken: () => badFields({ "identities.extern_uid": ["has already been taken"] }),
  identities_one_a_provider: () => badFields({ "identities.provider": ["has already been taken"] }),
  keys_fingerprint_taken: () => badFields({ fingerprint_sha256: ["has already been taken"] }),
  keys_user_id_fkey: () => missing("User"),
  deploy_keys_projects_project_id_fkey: () => missing("Project"),
  deploy_keys_projects_key_id_fkey: () => missing("Deploy key"),
  verified_domains_once_a_group: () => badFields({ domain: ["has already been taken"] }),
  verified_domains_taken: () => badFields({ domain: ["has already been taken"] }),
  // The user was there a moment ago and was deleted by someone else.
  emails_user_id_fkey: () => missing("User"),
  identities_user_id_fkey: () => missing("User"),
  personal_access_tokens_user_id_fkey: () => missing("User"),
  // Somebody rotated it meanwhile.
  personal_access_tokens_previous: () => badRequest("Token already revoked"),
  sessions_user_id_fkey: () => missing("User"),
  second_factors_user_id_fkey: () => missing("User"),
  user_custom_attributes_user_id_fkey: () => missing("User"),
  members_user_id_fkey: () => missing("User"),
  members_group_id_fkey: () => missing("Group"),
  members_project_id_fkey: () => missing("Project"),
  shares_project_id_fkey: () => missing("Project"),
  stars_project_id_fkey: () => missing("Project"),
  stars_user_id_fkey: () => missing("User"),
  user_statuses_user_id_fkey: () => missing("User"),
  users_created_by_id_fkey: () => missing("User"),
  users_provisioned_by_group_id_fkey: () => missing("Group"),
  projects_namespace_id_fkey: () => missing("Namespace"),
};

const CONSTRAINT_CODES = new Set(["23503", "23505", "23514", "23P01"]);
const SOCKET_CODES = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ENOENT", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT"]);
/** How the driver begins to say, without a code, that it has no connection to give or lost one. */
const NO_CONNECTION = [
  "timeout exceeded when trying to connect",
  "timeout expired",
  "Connection terminated",
  "Client has encountered a connection error",
  "Client was closed",
  "Cannot use a pool after calling end",
];

/** What the caller is told of an error of the database; undefined for a bug. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (lostConnection(error)) return unavailable();
  if (!(error instanceof DatabaseError) || error.code === undefined) return undefined;
  if (CONSTRAINT_CODES.has(error.code)) return byConstraint[error.constraint ?? ""]?.();
  switch (error.code) {
    case "55P03": // lock_timeout
      return conflict("409 Conflict: Resource lock");
    case "57014": // statement_timeout
    case "25006": // a server that became a replica
      return unavailable();
    default: {
      const outOfResources = error.code.startsWith("53");
      return outOfResources || worthRetrying(error) || isStalePlan(error) ? unavailable() : undefined;
    }
  }
}

/** Whether there is no connection: none was to be had, or it broke while the statement ran. */
export function lostConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? error.code : undefined;
  // Connection exceptions, shutdown and crash, and the end of a transaction that idled too long.
  if (error instanceof DatabaseError) return /^(?:08|57P|25P03)/.test(error.code ?? "");
  if (typeof code === "string") return SOCKET_CODES.has(code);
  return NO_CONNECTION.some((start) => error.message.startsWith(start));
}

/** Whether the same transaction may well succeed when it is run again: a deadlock or a clash of serializable ones. */
export const worthRetrying = (error: unknown): boolean =>
  error instanceof DatabaseError && (error.code === "40P01" || error.code === "40001");

/** Whether a migration changed the columns of a statement that this connection prepared before it. */
export const isStalePlan = (error: unknown): boolean =>
  error instanceof DatabaseError &&
  ((error.code === "0A000" && error.routine === "RevalidateCachedQuery") || error.code === "26000");
