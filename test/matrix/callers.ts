/** Scopes of tokens, each tried on every endpoint. */
export const SCOPES = [
  ...["api", "read_api", "read_user", "read_repository", "write_repository", "read_registry", "write_registry"],
  ...["read_virtual_registry", "write_virtual_registry", "create_runner", "manage_runner", "ai_features", "k8s_proxy"],
  ...["self_rotate", "read_service_ping", "sudo", "admin_mode", "read_observability", "write_observability"],
] as const;

export type Role = "anonymous" | "user" | "administrator";

/** For whom sudo wants to act. */
export type SudoTarget = "user" | "administrator" | "blocked" | "internal" | "missing";

export interface Caller {
  readonly name: string;
  /** What the lines call such a caller. */
  readonly role: Role;
  /** How the account differs from that of any active user. */
  readonly account?: Readonly<Record<string, string | boolean | null>>;
  /** What is wrong with the token; `rotated` is a revoked one that has a successor. */
  readonly token?: "none" | "unknown" | "expired" | "revoked" | "rotated";
  /** How the token is shown; `two` shows another user's as well. */
  readonly carrier?: "header" | "bearer" | "query" | "two";
  /** The status that meets this caller everywhere. */
  readonly refused?: 401 | 403;
  readonly sudo?: { readonly as: SudoTarget; readonly by: "header" | "query" };
  /** Scopes of the token beside the one that is tried. */
  readonly besides?: readonly string[];
  readonly loopback?: true;
}

const SUDO = ["sudo"];
const admin = { role: "administrator", account: { admin: true } } as const;

export const callers: readonly Caller[] = [
  { name: "anonymous", role: "anonymous", token: "none" },
  { name: "anonymous on the same machine", role: "anonymous", token: "none", loopback: true },
  { name: "anonymous with sudo", role: "anonymous", token: "none", sudo: { as: "user", by: "header" }, refused: 401 },

  { name: "user", role: "user" },
  { name: "user by bearer", role: "user", carrier: "bearer" },
  { name: "user by parameter", role: "user", carrier: "query" },
  { name: "external user", role: "user", account: { external: true } },
  { name: "auditor", role: "user", account: { auditor: true } },
  { name: "service account", role: "user", account: { user_type: "service_account" } },
  { name: "project bot", role: "user", account: { user_type: "project_bot" } },
  { name: "user with a private profile", role: "user", account: { private_profile: true } },
  { name: "administrator", ...admin },

  { name: "unknown token", role: "user", token: "unknown", refused: 401 },
  { name: "expired token", role: "user", token: "expired", refused: 401 },
  { name: "revoked token", role: "user", token: "revoked", refused: 401 },
  { name: "rotated token", role: "user", token: "rotated", refused: 401 },
  { name: "two tokens", role: "user", carrier: "two", refused: 401 },
  { name: "administrator, expired token", ...admin, token: "expired", refused: 401 },
  { name: "administrator, revoked token", ...admin, token: "revoked", refused: 401 },

  { name: "blocked", role: "user", account: { state: "blocked" }, refused: 403 },
  { name: "blocked by LDAP", role: "user", account: { state: "ldap_blocked" }, refused: 403 },
  { name: "banned", role: "user", account: { state: "banned" }, refused: 403 },
  { name: "deactivated", role: "user", account: { state: "deactivated" }, refused: 403 },
  { name: "pending approval", role: "user", account: { state: "blocked_pending_approval" }, refused: 403 },
  { name: "unconfirmed", role: "user", account: { confirmed_at: null }, refused: 403 },
  { name: "password expired", role: "user", account: { password_expired: true }, refused: 403 },
  { name: "internal bot", role: "user", account: { user_type: "alert_bot" }, refused: 403 },
  { name: "ghost", role: "user", account: { user_type: "ghost" }, refused: 403 },
  { name: "administrator, blocked", role: "administrator", account: { admin: true, state: "blocked" }, refused: 403 },
  {
    name: "administrator, unconfirmed",
    role: "administrator",
    account: { admin: true, confirmed_at: null },
    refused: 403,
  },
  {
    name: "administrator, password expired",
    role: "administrator",
    account: { admin: true, password_expired: true },
    refused: 403,
  },
  {
    name: "administrator, internal bot",
    role: "administrator",
    account: { admin: true, user_type: "admin_bot" },
    refused: 403,
  },

  { name: "administrator for a user", ...admin, besides: SUDO, sudo: { as: "user", by: "header" } },
  { name: "administrator for a user by name", ...admin, besides: SUDO, sudo: { as: "user", by: "query" } },
  { name: "administrator for an administrator", ...admin, besides: SUDO, sudo: { as: "administrator", by: "header" } },
  { name: "administrator for a user, without the scope", ...admin, sudo: { as: "user", by: "header" } },
  {
    name: "administrator for an administrator, without the scope",
    ...admin,
    sudo: { as: "administrator", by: "query" },
  },
  { name: "administrator for a blocked user", ...admin, besides: SUDO, sudo: { as: "blocked", by: "header" } },
  { name: "administrator for an internal bot", ...admin, besides: SUDO, sudo: { as: "internal", by: "header" } },
  { name: "administrator for nobody", ...admin, besides: SUDO, sudo: { as: "missing", by: "header" } },
  { name: "user for a user", role: "user", besides: SUDO, sudo: { as: "user", by: "header" } },
  { name: "user for an administrator", role: "user", besides: SUDO, sudo: { as: "administrator", by: "query" } },
];
