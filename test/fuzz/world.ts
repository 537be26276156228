import { sql } from "kysely";
import { SCOPES, type Scope } from "#access/scopes.ts";
import type { TestApp, TestUser } from "#test/support/app.ts";
import { PNG } from "./images.ts";
import { takeSnapshot } from "./snapshot.ts";
import { makeTree, type Tree } from "./tree.ts";

/** Who asks: a name for the report and the token they show, if any. */
export interface Caller {
  readonly name: string;
  readonly token: string | undefined;
}

export interface World {
  readonly callers: readonly Caller[];
  readonly administrator: Caller;
  readonly user: Caller;
  /** Every token that a request may show; none may come back. */
  readonly secrets: readonly string[];
  /** Usernames of people who ask for nothing. */
  readonly people: readonly string[];
  readonly tree: Tree;
  /** Puts the callers and the settings back as they were, since everything after it hangs on them. */
  revive(): Promise<void>;
  /** Puts everything back; nothing may be asked meanwhile. */
  restore(): Promise<void>;
}

const STATES = ["active", "blocked", "ldap_blocked", "deactivated", "banned", "blocked_pending_approval"] as const;

/** A small population: callers of every kind, users in every state with all that a user can have, and a tree. */
export async function makeWorld(app: TestApp): Promise<World> {
  const { db, blobs } = app.services;
  const person = (columns: Parameters<TestApp["makeUser"]>[0], scopes: readonly Scope[] = ["api"]) =>
    app.makeUser(columns, scopes);
  const administrator = await person({ username: "root", admin: true, commit_email: "_private" }, SCOPES);
  const plainAdministrator = await person({ username: "boss", admin: true });
  const user = await person({ username: "user", commit_email: "_private", public_email: "user@example.com" });
  const reader = await person({ username: "reader" }, ["read_user"]);
  const blocked = await person({ username: "blocked", state: "blocked" });
  const revoked = await app.makeToken(user.id, { revoked_at: "2026-01-01T00:00:00Z" });
  const expired = await app.makeToken(user.id, { expires_at: "2020-01-01" });
  const people = Array.from({ length: 30 }, (_, index) => `person-${index}`);
  for (const [index, username] of people.entries()) {
    await person({
      username,
      name: `Person ${index} Ünï`,
      state: STATES[index % STATES.length] ?? "active",
      external: index % 5 === 0,
      private_profile: index % 4 === 0,
      user_type: index % 7 === 0 ? "service_account" : index % 11 === 0 ? "ghost" : "human",
      commit_email: index % 3 === 0 ? "_private" : null,
      time_zone: index % 2 === 0 ? "Europe/Amsterdam" : null,
    });
  }
  await fillIn(app);
  const tree = await makeTree(db.write, user.id, await blobs.put(PNG));
  const snapshot = await takeSnapshot(db);
  const kept = [administrator, plainAdministrator, user, reader, blocked];
  const named = (name: string, token?: string): Caller => ({ name, token });
  const callers = [
    named("administrator", administrator.token),
    named("user", user.token),
    named("anonymous"),
    named("administrator without sudo", plainAdministrator.token),
    named("reader", reader.token),
    named("blocked", blocked.token),
    named("revoked", revoked.token),
    named("expired", expired.token),
    named("unknown", `flpat-${"x".repeat(24)}`),
  ];
  return {
    callers,
    administrator: callers[0] as Caller,
    user: callers[1] as Caller,
    secrets: callers.flatMap(({ token }) => token ?? []),
    people,
    tree,
    async revive() {
      await reviveCallers(app, kept);
      await snapshot.restoreSettings();
    },
    async restore() {
      await snapshot.restore();
      await reviveCallers(app, kept);
    },
  };
}

async function fillIn({ services: { db } }: TestApp) {
  await sql`insert into emails (user_id, email, confirmed_at)
    select id, username || '@second.example', case when id % 2 = 0 then now() end from users`.execute(db.write);
  await sql`insert into identities (user_id, provider, extern_uid, saml_provider_id)
    select id, 'ldapmain', 'uid-' || id, case when id % 3 = 0 then id end from users`.execute(db.write);
  await sql`insert into jobs.instance (id, name, host, pid, version, node_version, heartbeat_seconds, supervise, schedule,
      migrate, persist_queue_stats, persist_warnings, workers)
    values (gen_random_uuid(), 'worker', 'localhost', 1, '', '', 1000000, false, false, false, false, false,
      '[{"queue": "default", "localConcurrency": 1, "batchSize": 2, "active": 1}]')`.execute(db.write);
  await sql`insert into user_custom_attributes (user_id, key, value) select id, 'team', 'team ' || id % 3 from users`.execute(
    db.write,
  );
}

async function reviveCallers({ services: { db } }: TestApp, kept: readonly TestUser[]) {
  await sql`update personal_access_tokens set revoked_at = null where id = any(${kept.map(({ tokenId }) => tokenId)}::bigint[])
    and revoked_at is not null`.execute(db.write);
  await sql`
    update users u set username = given.username, admin = given.username in ('root', 'boss'), password_expired = false
    from unnest(${kept.map(({ id }) => id)}::bigint[], ${kept.map(({ username }) => username)}::text[]) given (id, username)
    where u.id = given.id
      and (u.username <> given.username or u.admin <> (given.username in ('root', 'boss')) or u.password_expired)`.execute(
    db.write,
  );
}
