import type { Ask } from "./held-doors.ts";
import type { Credential, Wish, World } from "./held-world.ts";

/** One way in which the right to a push that is under way ends, written past the API, as locks are held meanwhile. */
export interface Ending {
  readonly name: string;
  /** Who it concerns; left out, everybody. */
  readonly credentials?: readonly Credential[];
  /** Left out, a new branch. */
  readonly wish?: Wish;
  /** The level of whoever pushes; left out, Developer. */
  readonly level?: number;
  end(ask: Ask, world: World): Promise<unknown>;
  /** What they are told; undefined where the push is still allowed. */
  readonly says: RegExp | undefined;
}

const DEVELOPER = 30;
const MAINTAINER = 40;

const USERS: readonly Credential[] = ["token", "session", "sudo", "key"];

const project = (set: string) => (ask: Ask, world: World) =>
  ask(`update projects set ${set} where id = $1`, [world.project.id]);
const group = (set: string) => (ask: Ask, world: World) =>
  ask(`update namespaces set ${set} where id = $1`, [world.groupId]);
const user = (set: string) => (ask: Ask, world: World) => ask(`update users set ${set} where id = $1`, [world.userId]);
const sudoer = (set: string) => (ask: Ask, world: World) =>
  ask(`update users set ${set} where id = $1`, [world.sudoerId]);
const token = (set: string) => (ask: Ask, world: World) =>
  ask(`update personal_access_tokens set ${set} where id = $1`, [world.tokenId]);
const key = (set: string) => (ask: Ask, world: World) => ask(`update keys set ${set} where id = $1`, [world.keyId]);
const membership = (set: string) => (ask: Ask, world: World) =>
  ask(`update members set ${set} where user_id = $1`, [world.userId]);
const today = "(now() at time zone 'UTC')::date";

const controls: readonly Ending[] = [
  { name: "nothing ended", end: () => Promise.resolve(), says: undefined },
  { name: "project renamed", end: project("path = path || '-moved'"), says: undefined },
];

const ofProject: readonly Ending[] = [
  { name: "project archived", end: project("archived = true"), says: /The project is archived/ },
  { name: "group above archived", end: group("archived = true"), says: /The project is archived/ },
  { name: "project marked for deletion", end: project("marked_for_deletion_at = now()"), says: /marked for deletion/ },
  {
    name: "group above marked for deletion",
    end: group("marked_for_deletion_at = now()"),
    says: /marked for deletion/,
  },
  {
    name: "repository read-only",
    end: (ask, world) =>
      ask(
        `insert into repositories (project_id, read_only_until) values ($1, now() + interval '1 hour')
         on conflict (project_id) do update set read_only_until = excluded.read_only_until`,
        [world.project.id],
      ),
    says: /temporarily read-only/,
  },
  {
    name: "code access disabled",
    end: project(`preferences = preferences || '{"repository_access_level":"disabled"}'`),
    says: /switched off/,
  },
];

const ofUser = [
  {
    name: "member removed",
    end: (ask, world) => ask("delete from members where user_id = $1", [world.userId]),
    says: /Project Not Found/,
  },
  { name: "membership expired", end: membership(`expires_at = ${today}`), says: /Project Not Found/ },
  { name: "level lowered", end: membership("access_level = 20"), says: /not allowed to push code/ },
  { name: "user blocked", end: user("state = 'blocked'"), says: /has been blocked/ },
  { name: "user banned", end: user("state = 'banned'"), says: /has been blocked/ },
  { name: "user deactivated", end: user("state = 'deactivated'"), says: /has been deactivated/ },
] satisfies Ending[];

const ofCredential: readonly Ending[] = [
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
    end: (ask, world) => ask("delete from sessions where user_id = $1", [world.userId]),
    says: /Unauthorized/,
    credentials: ["session"],
  },
  {
    name: "sudo by somebody who is no administrator",
    end: sudoer("admin = false"),
    says: /Must be admin/,
    credentials: ["sudo"],
  },
  {
    name: "sudo by somebody blocked",
    end: sudoer("state = 'blocked'"),
    says: /has been blocked/,
    credentials: ["sudo"],
  },
  {
    name: "key removed",
    end: (ask, world) => ask("delete from keys where id = $1", [world.keyId]),
    says: /key is not known/,
    credentials: ["key", "deploy key"],
  },
  { name: "key expired", end: key("expires_at = now()"), says: /key has expired/, credentials: ["key", "deploy key"] },
  {
    name: "deploy key disabled",
    // A key that opens nothing any more goes as a whole.
    end: (ask, world) => ask("delete from deploy_keys_projects where key_id = $1", [world.keyId]),
    says: /key is not known/,
    credentials: ["deploy key"],
  },
  {
    name: "can_push taken away",
    end: (ask, world) => ask("update deploy_keys_projects set can_push = false where key_id = $1", [world.keyId]),
    says: /only for reading/,
    credentials: ["deploy key"],
  },
];

/** What Maintainers may do to the default branch, and Developers to others alone. */
const ofRules: readonly Ending[] = [
  {
    name: "Maintainer made Developer, deleting main",
    wish: "deleted main",
    level: MAINTAINER,
    end: membership(`access_level = ${DEVELOPER}`),
    says: /not allowed to delete the default branch/,
    credentials: ["token", "key"],
  },
  {
    name: "Maintainer made Developer, forcing main",
    wish: "forced main",
    level: MAINTAINER,
    end: membership(`access_level = ${DEVELOPER}`),
    says: /default branch changed meanwhile/,
    credentials: ["token", "key"],
  },
  {
    name: "branch made the default one, being forced",
    wish: "forced branch",
    end: project("default_branch = 'side'"),
    says: /default branch changed meanwhile/,
    credentials: ["token", "key", "deploy key"],
  },
];

export const endings: readonly Ending[] = [
  ...controls,
  ...ofProject,
  ...ofUser.map((ending) => ({ ...ending, credentials: USERS })),
  ...ofCredential,
  ...ofRules,
];
