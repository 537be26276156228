/** Scopes of tokens, each tried on every endpoint. */
export const SCOPES = [
  ...["api", "read_api", "read_user", "read_repository", "write_repository", "read_registry", "write_registry"],
  ...["read_virtual_registry", "write_virtual_registry", "create_runner", "manage_runner", "ai_features", "k8s_proxy"],
  ...["self_rotate", "read_service_ping", "sudo", "admin_mode", "read_observability", "write_observability"],
] as const;

export type Role = "anonymous" | "user" | "administrator";

/** The user that sudo names. */
export type SudoTarget = "user" | "administrator" | "blocked" | "internal" | "missing";

/** The numbers of the levels on the wire. */
export const LEVELS = {
  minimal: 5,
  guest: 10,
  planner: 15,
  reporter: 20,
  developer: 30,
  maintainer: 40,
  owner: 50,
} as const;

export type Level = keyof typeof LEVELS;
/** An expiry date: with today it has expired. With tomorrow it might, in a run that passes midnight. */
export type End = "today" | "next week";

/** A source of rights in a container: a membership or, with `share`, a membership in a group that it is shared with. */
export interface Grant {
  /** In the container itself, in the top-level group above it, or in a project beside or inside it. */
  readonly at: "it" | "above" | "inside";
  readonly level: Level;
  readonly ends?: End;
  readonly share?: {
    /** The highest level that the share grants. */
    readonly upTo: Level;
    readonly ends?: End;
    /** The membership is in the parent of the group that it is shared with. */
    readonly throughParent?: true;
  };
}

export interface Caller {
  readonly name: string;
  /** The role of such a caller in the lines. */
  readonly role: Role;
  /** Columns in which the account differs from an ordinary active user. */
  readonly account?: Readonly<Record<string, string | boolean | null>>;
  /** What is wrong with the token; `rotated` is a revoked one that has a successor. */
  readonly token?: "none" | "unknown" | "expired" | "revoked" | "rotated";
  /** How the token is sent; `two` sends another user's as well, and with a session there is none. */
  readonly carrier?: "header" | "bearer" | "query" | "two" | "session";
  /** The status that this caller gets from every endpoint. */
  readonly refused?: 401 | 403;
  readonly sudo?: { readonly as: SudoTarget; readonly by: "header" | "query" };
  /** Scopes of the token besides the one that is tried. */
  readonly besides?: readonly string[];
  readonly loopback?: true;
  /** The rights of the caller, or under sudo of the user acted for, in the group or project of the request. */
  readonly grants?: readonly Grant[];
}

const SUDO = ["sudo"];
const OWNER: readonly Grant[] = [{ at: "it", level: "owner" }];
const admin = { role: "administrator", account: { admin: true } } as const;
/** A user who would have access to everything if it were not for one problem. */
const owner = { role: "user", grants: OWNER } as const;

/** Callers that are tried on every endpoint. */
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
  { name: "user by session", role: "user", token: "none", carrier: "session" },
  { name: "administrator by session", ...admin, token: "none", carrier: "session" },

  { name: "unknown token", ...owner, token: "unknown", refused: 401 },
  { name: "expired token", ...owner, token: "expired", refused: 401 },
  { name: "revoked token", ...owner, token: "revoked", refused: 401 },
  { name: "rotated token", ...owner, token: "rotated", refused: 401 },
  { name: "two tokens", ...owner, carrier: "two", refused: 401 },
  { name: "administrator, expired token", ...admin, token: "expired", refused: 401 },
  { name: "administrator, revoked token", ...admin, token: "revoked", refused: 401 },

  { name: "blocked", ...owner, account: { state: "blocked" }, refused: 403 },
  { name: "blocked by LDAP", ...owner, account: { state: "ldap_blocked" }, refused: 403 },
  { name: "banned", ...owner, account: { state: "banned" }, refused: 403 },
  { name: "deactivated", ...owner, account: { state: "deactivated" }, refused: 403 },
  { name: "pending approval", ...owner, account: { state: "blocked_pending_approval" }, refused: 403 },
  { name: "unconfirmed", ...owner, account: { confirmed_at: null }, refused: 403 },
  { name: "password expired", ...owner, account: { password_expired: true }, refused: 403 },
  { name: "internal bot", ...owner, account: { user_type: "alert_bot" }, refused: 403 },
  { name: "ghost", ...owner, account: { user_type: "ghost" }, refused: 403 },
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

const ASCENDING_LEVELS = ["guest", "planner", "reporter", "developer", "maintainer", "owner"] as const;

const member = (name: string, ...grants: Grant[]): Caller => ({ name, role: "user", grants });

/** Every role, by every way to get it. */
const roles = ASCENDING_LEVELS.flatMap((level) => [
  member(level, { at: "it", level }),
  member(`${level}, inherited`, { at: "above", level }),
  member(`${level}, by a share`, { at: "it", level, share: { upTo: "owner" } }),
  member(`${level}, by the limit of a share`, { at: "it", level: "owner", share: { upTo: level } }),
  member(`${level}, by a share above`, { at: "above", level, share: { upTo: "owner" } }),
  member(`${level}, expired`, { at: "it", level, ends: "today" }),
]);

/** Callers that are tried on every endpoint of a group or project. */
export const members: readonly Caller[] = [
  ...roles,
  member("minimal", { at: "it", level: "minimal" }),
  member("minimal above", { at: "above", level: "minimal" }),
  member("minimal, expired", { at: "it", level: "minimal", ends: "today" }),
  member("owner until next week", { at: "it", level: "owner", ends: "next week" }),
  member("owner above until next week", { at: "above", level: "owner", ends: "next week" }),
  member("owner above, expired", { at: "above", level: "owner", ends: "today" }),
  member("owner by a share until next week", { at: "it", level: "owner", share: { upTo: "owner", ends: "next week" } }),
  member("owner by an expired share", { at: "it", level: "owner", share: { upTo: "owner", ends: "today" } }),
  member("owner by an expired share above", { at: "above", level: "owner", share: { upTo: "owner", ends: "today" } }),
  member("expired owner of the group shared with", {
    at: "it",
    level: "owner",
    ends: "today",
    share: { upTo: "owner" },
  }),
  member("developer of the parent of the group shared with", {
    at: "it",
    level: "developer",
    share: { upTo: "owner", throughParent: true },
  }),
  member("minimal of the group shared with", { at: "it", level: "minimal", share: { upTo: "owner" } }),
  member("guest, maintainer above", { at: "it", level: "guest" }, { at: "above", level: "maintainer" }),
  member("maintainer, guest above", { at: "it", level: "maintainer" }, { at: "above", level: "guest" }),
  member("owner of something inside", { at: "inside", level: "owner" }),
  member("owner of something inside, expired", { at: "inside", level: "owner", ends: "today" }),
  { name: "external developer", role: "user", account: { external: true }, grants: [{ at: "it", level: "developer" }] },
  { name: "external owner", role: "user", account: { external: true }, grants: OWNER },
  {
    name: "project bot, maintainer",
    role: "user",
    account: { user_type: "project_bot" },
    grants: [{ at: "it", level: "maintainer" }],
  },
  { name: "administrator for an owner", ...admin, besides: SUDO, sudo: { as: "user", by: "header" }, grants: OWNER },
  {
    name: "administrator for a reporter",
    ...admin,
    besides: SUDO,
    sudo: { as: "user", by: "query" },
    grants: [{ at: "it", level: "reporter" }],
  },
];
