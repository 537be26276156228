import { sql } from "kysely";
import { SCOPES, type Scope } from "#access/scopes.ts";
import { tokenDigest } from "#access/authenticate.ts";
import type { TestApp } from "#test/support/app.ts";
import { type Code, makeCode } from "./code.ts";
import { codePairs } from "./code-values.ts";
import { type Accounts, type Headers, makeAccounts } from "./accounts.ts";
import { makeChildren, makeLinks } from "./children.ts";
import { makeAccountData } from "./account-data.ts";
import { PNG } from "./images.ts";
import { readRelated, type Related } from "./related.ts";
import { Secrets } from "./secrets.ts";
import { takeSnapshot } from "./snapshot.ts";
import { makeTree, type Tree } from "./tree.ts";

/** A caller: a name for the report and a token, if there is one. */
export interface Caller {
  readonly name: string;
  readonly token: string | undefined;
  /** Headers instead of a token. */
  readonly session?: Headers;
  /** Whether the credentials lack proof, so that the caller must count as anonymous. */
  readonly nobody?: true;
}

export interface World {
  readonly callers: readonly Caller[];
  readonly administrator: Caller;
  readonly user: Caller;
  /** The callers with a session. */
  readonly browser: Caller;
  readonly accounts: Accounts;
  /** The secrets of requests and their digests; no response may contain them. */
  readonly secrets: Secrets;
  /** Usernames of people who send no requests. */
  readonly people: readonly string[];
  readonly tree: Tree;
  readonly code: Code;
  readonly related: Related;
  /** Restores the callers and the settings, on which later cases depend. */
  revive(): Promise<void>;
  /** Restores everything; no request may run meanwhile. */
  restore(): Promise<void>;
}

const STATES = ["active", "blocked", "ldap_blocked", "deactivated", "banned", "blocked_pending_approval"] as const;

/** Test data: callers of every kind, users in every state with all kinds of data, and a tree. */
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
  await makeAccountData(app);
  const children = await makeChildren(app, tree, administrator.id);
  const links = await makeLinks(app);
  const code = await makeCode(app, tree.projects);
  const late = await person({ username: "late" });
  const accounts = await makeAccounts(app, {
    guarded: administrator,
    beginner: user,
    signedIn: plainAdministrator,
    late,
  });
  const known = [administrator, plainAdministrator, user, reader, blocked, late];
  const snapshot = await takeSnapshot(
    db,
    known.map(({ id }) => id),
  );
  const callers: readonly Caller[] = [
    { name: "administrator", token: administrator.token },
    { name: "user", token: user.token },
    { name: "administrator by session", token: undefined, session: accounts.session },
    { name: "administrator without sudo", token: plainAdministrator.token },
    { name: "reader", token: reader.token },
    { name: "blocked", token: blocked.token },
    { name: "anonymous", token: undefined, nobody: true },
    { name: "revoked", token: revoked.token, nobody: true },
    { name: "expired", token: expired.token, nobody: true },
    { name: "unknown", token: `flpat-${"x".repeat(24)}`, nobody: true },
    ...Object.entries(accounts.unproved).map(([name, session]): Caller => ({
      name,
      token: undefined,
      session,
      nobody: true,
    })),
  ];
  const tokens = callers.flatMap(({ token }) => token ?? []);
  return {
    callers,
    administrator: callers[0] as Caller,
    user: callers[1] as Caller,
    browser: callers[2] as Caller,
    accounts,
    secrets: new Secrets({
      "a token of a caller": tokens,
      ...accounts.secrets,
      "a digest of a token": tokens.map(tokenDigest),
    }),
    people,
    tree,
    code,
    related: new Map([...links, ...children, ...(await readRelated(db.write)), ...Object.entries(codePairs(code))]),
    revive: snapshot.revive,
    async restore() {
      await snapshot.restore();
      await code.restore();
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
