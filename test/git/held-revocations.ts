import type { Query } from "./held-transports.ts";
import type { Credential, RefUpdate, PushFixture } from "./held-fixture.ts";

/** A way to revoke the permission of a running push, by SQL, since the API would wait for its locks. */
export interface Revocation {
  readonly name: string;
  /** The credentials it concerns; by default all. */
  readonly credentials?: readonly Credential[];
  /** By default a new branch. */
  readonly update?: RefUpdate;
  /** The level of the pusher; by default Developer. */
  readonly level?: number;
  end(query: Query, fixture: PushFixture): Promise<unknown>;
  /** The reason that the pusher sees; undefined if the push is still allowed. */
  readonly says: RegExp | undefined;
  /** The reason that a push sees whose intent did not exist yet, if that differs. */
  readonly saysWithoutIntent?: RegExp;
}

const DEVELOPER = 30;
const MAINTAINER = 40;

const USERS: readonly Credential[] = ["token", "session", "sudo", "key"];

const project = (set: string) => (query: Query, fixture: PushFixture) =>
  query(`update projects set ${set} where id = $1`, [fixture.project.id]);
const group = (set: string) => (query: Query, fixture: PushFixture) =>
  query(`update namespaces set ${set} where id = $1`, [fixture.groupId]);
const user = (set: string) => (query: Query, fixture: PushFixture) =>
  query(`update users set ${set} where id = $1`, [fixture.userId]);
const sudoer = (set: string) => (query: Query, fixture: PushFixture) =>
  query(`update users set ${set} where id = $1`, [fixture.sudoerId]);
const token = (set: string) => (query: Query, fixture: PushFixture) =>
  query(`update personal_access_tokens set ${set} where id = $1`, [fixture.tokenId]);
const key = (set: string) => (query: Query, fixture: PushFixture) =>
  query(`update keys set ${set} where id = $1`, [fixture.keyId]);
const membership = (set: string) => (query: Query, fixture: PushFixture) =>
  query(`update members set ${set} where user_id = $1`, [fixture.userId]);
const today = "(now() at time zone 'UTC')::date";

const controls: readonly Revocation[] = [
  { name: "nothing ended", end: () => Promise.resolve(), says: undefined },
  { name: "project renamed", end: project("path = path || '-moved'"), says: undefined },
];

const ofProject: readonly Revocation[] = [
  { name: "project archived", end: project("archived = true"), says: /The project is archived/ },
  { name: "group above archived", end: group("archived = true"), says: /The project is archived/ },
  { name: "project marked for deletion", end: project("marked_for_deletion_at = now()"), says: /marked for deletion/ },
  {
    name: "group above marked for deletion",
    end: group("marked_for_deletion_at = now()"),
    says: /marked for deletion/,
  },
  {
    // Whoever makes it read-only waits for pushes that have begun.
    name: "repository read-only",
    end: (query, fixture) =>
      query(
        `insert into repositories (project_id, read_only_until) values ($1, now() + interval '1 hour')
         on conflict (project_id) do update set read_only_until = excluded.read_only_until`,
        [fixture.project.id],
      ),
    says: undefined,
    saysWithoutIntent: /temporarily read-only/,
  },
  {
    name: "code access disabled",
    end: project("repository_access_level = 'disabled'"),
    says: /switched off/,
  },
];

const ofUser = [
  {
    name: "member removed",
    end: (query, fixture) => query("delete from members where user_id = $1", [fixture.userId]),
    says: /Project Not Found/,
  },
  { name: "membership expired", end: membership(`expires_at = ${today}`), says: /Project Not Found/ },
  { name: "level lowered", end: membership("access_level = 20"), says: /not allowed to push code/ },
  { name: "user blocked", end: user("state = 'blocked'"), says: /has been blocked/ },
  { name: "user banned", end: user("state = 'banned'"), says: /has been blocked/ },
  { name: "user deactivated", end: user("state = 'deactivated'"), says: /has been deactivated/ },
] satisfies Revocation[];

const ofCredential: readonly Revocation[] = [
  {
    name: "token revoked",
    end: token("revoked_at = now()"),
    says: /Token was revoked/,
    credentials: ["token", "sudo"],
  },
  {
    name: "token expired",
    end: token(`expires_at = ${today}`),
    says: /Token is expired/,
    credentials: ["token", "sudo"],
  },
  {
    name: "scope taken away",
    end: token("scopes = array['read_api']"),
    says: /higher privileges/,
    credentials: ["token"],
  },
  {
    name: "session ended",
    end: (query, fixture) => query("delete from sessions where user_id = $1", [fixture.userId]),
    says: /Unauthorized/,
    credentials: ["session"],
  },
  {
    name: "sudo of a former administrator",
    end: sudoer("admin = false"),
    says: /Must be admin/,
    credentials: ["sudo"],
  },
  {
    name: "sudo of a blocked administrator",
    end: sudoer("state = 'blocked'"),
    says: /has been blocked/,
    credentials: ["sudo"],
  },
  {
    name: "key removed",
    end: (query, fixture) => query("delete from keys where id = $1", [fixture.keyId]),
    says: /key is not known/,
    credentials: ["key", "deploy key"],
  },
  { name: "key expired", end: key("expires_at = now()"), says: /key has expired/, credentials: ["key", "deploy key"] },
  {
    name: "deploy key disabled",
    // A private key is deleted with its last project.
    end: (query, fixture) => query("delete from deploy_keys_projects where key_id = $1", [fixture.keyId]),
    says: /key is not known/,
    credentials: ["deploy key"],
  },
  {
    name: "can_push taken away",
    end: (query, fixture) =>
      query("update deploy_keys_projects set can_push = false where key_id = $1", [fixture.keyId]),
    says: /only for reading/,
    credentials: ["deploy key"],
  },
];

/** Changes of the default branch that only Maintainers may make. */
const ofRules: readonly Revocation[] = [
  {
    name: "Maintainer made Developer, deleting main",
    update: "deleted main",
    level: MAINTAINER,
    end: membership(`access_level = ${DEVELOPER}`),
    says: /not allowed to delete the default branch/,
    credentials: ["token", "key"],
  },
  {
    name: "Maintainer made Developer, forcing main",
    update: "forced main",
    level: MAINTAINER,
    end: membership(`access_level = ${DEVELOPER}`),
    says: /default branch changed meanwhile/,
    credentials: ["token", "key"],
  },
  {
    name: "branch made the default one, being forced",
    update: "forced branch",
    end: project("default_branch = 'side'"),
    says: /default branch changed meanwhile/,
    credentials: ["token", "key", "deploy key"],
  },
];

export const revocations: readonly Revocation[] = [
  ...controls,
  ...ofProject,
  ...ofUser.map((revocation) => ({ ...revocation, credentials: USERS })),
  ...ofCredential,
  ...ofRules,
];
