import assert from "node:assert/strict";
import { sql } from "kysely";
import type { Caller, Grant } from "#test/matrix/callers.ts";
import type { MadePlace } from "#test/matrix/land.ts";
import type { Visibility } from "#test/matrix/line.ts";
import type { Account, World } from "#test/matrix/world.ts";
import type { TestApp } from "#test/support/app.ts";

/** Where a loss happens. */
export interface Scene {
  /** The process that hears of it first. */
  readonly app: TestApp;
  readonly world: World;
  readonly place: MadePlace;
  readonly user: Account;
  /** The token of an administrator, who takes away. */
  readonly admin: string;
}

/** What a caller has, as the model of the matrix knows it. */
type Standing = Partial<Pick<Caller, "role" | "account" | "grants" | "refused">> & { readonly visibility?: Visibility };

/** How somebody loses what they had; what they have then is what `left` says. */
export interface Loss {
  readonly name: string;
  readonly had: Standing;
  readonly left: Standing & { readonly gone?: true };
  lose(scene: Scene): Promise<unknown>;
}

const it = (level: Grant["level"]): Grant => ({ at: "it", level });
const above: Grant = { at: "above", level: "owner" };
const shared: Grant = { at: "it", level: "owner", share: { upTo: "owner" } };
const sharedAbove: Grant = { at: "above", level: "owner", share: { upTo: "owner" } };
const NOTHING: Standing = { grants: [] };

const addressOf = ({ kind, id }: MadePlace) => `/${kind}s/${id}`;
const today = sql`(now() at time zone 'UTC')::date`;

async function done(reply: Promise<{ status: number; text: string }>) {
  const { status, text } = await reply;
  assert.ok(status < 300, `${status} ${text}`);
}

const column = ({ kind }: MadePlace) => sql.ref(`${kind}_id`);
const changeUser = ({ app, user }: Scene, change: ReturnType<typeof sql>) =>
  sql`update users set ${change} where id = ${user.id}`.execute(app.services.db.write);

/** The group that the place is shared with for the caller's sake, which is in another one. */
async function invited({ app, place }: Scene): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select s.with_group_id as id from shares s join namespaces n on n.id = s.with_group_id
    where s.${column(place)} = ${place.id} and n.visibility = 0 and n.parent_id is not null`.execute(
    app.services.db.write,
  );
  return rows[0]?.id ?? 0;
}

export const losses: readonly Loss[] = [
  {
    name: "removed from it",
    had: { grants: [it("owner")] },
    left: NOTHING,
    lose: ({ app, place, user, admin: token }) => done(app.delete(`${addressOf(place)}/members/${user.id}`, { token })),
  },
  {
    name: "removed from the group above",
    had: { grants: [above] },
    left: NOTHING,
    lose: ({ app, place, user, admin: token }) =>
      done(app.delete(`/groups/${place.top}/members/${user.id}`, { token })),
  },
  {
    name: "lowered to Guest",
    had: { grants: [it("owner")] },
    left: { grants: [it("guest")] },
    lose: ({ app, place, user, admin: token }) =>
      done(app.put(`${addressOf(place)}/members/${user.id}`, { token, payload: { access_level: 10 } })),
  },
  {
    name: "past the end of the membership",
    had: { grants: [it("owner")] },
    left: NOTHING,
    lose: ({ app, place, user }) =>
      sql`update members set expires_at = ${today} where ${column(place)} = ${place.id} and user_id = ${user.id}`.execute(
        app.services.db.write,
      ),
  },
  {
    name: "no longer by a share",
    had: { grants: [shared] },
    left: NOTHING,
    lose: async (scene) =>
      done(scene.app.delete(`${addressOf(scene.place)}/share/${await invited(scene)}`, { token: scene.admin })),
  },
  {
    name: "no longer by a share above",
    had: { grants: [sharedAbove] },
    left: NOTHING,
    lose: ({ app, place: { top } }) => sql`delete from shares where group_id = ${top}`.execute(app.services.db.write),
  },
  {
    name: "past the end of a share",
    had: { grants: [shared] },
    left: NOTHING,
    lose: ({ app, place }) =>
      sql`update shares set expires_at = ${today} where ${column(place)} = ${place.id}`.execute(app.services.db.write),
  },
  {
    name: "by a share that gives less",
    had: { grants: [shared] },
    left: { grants: [{ at: "it", level: "owner", share: { upTo: "guest" } }] },
    lose: ({ app, place }) =>
      sql`update shares set access_level = 10 where ${column(place)} = ${place.id}`.execute(app.services.db.write),
  },
  {
    name: "removed from the group that it is shared with",
    had: { grants: [shared] },
    left: NOTHING,
    lose: async (scene) =>
      done(scene.app.delete(`/groups/${await invited(scene)}/members/${scene.user.id}`, { token: scene.admin })),
  },
  {
    name: "a stranger, when it was made private",
    had: { grants: [], visibility: "public" },
    left: { grants: [], visibility: "private" },
    lose: ({ app, place }) =>
      sql`update ${sql.table(place.kind === "group" ? "namespaces" : "projects")} set visibility = 0
          where id = ${place.id}`.execute(app.services.db.write),
  },
  {
    name: "external from now on",
    had: { grants: [], visibility: "internal" },
    left: { grants: [], visibility: "internal", account: { external: true } },
    lose: (scene) => changeUser(scene, sql`external = true`),
  },
  {
    name: "no administrator any more",
    had: { role: "administrator", account: { admin: true }, grants: [] },
    left: { role: "user", account: {}, grants: [] },
    lose: (scene) => changeUser(scene, sql`admin = false`),
  },
  {
    name: "blocked",
    had: { grants: [it("owner")] },
    left: { grants: [it("owner")], refused: 403 },
    lose: (scene) => changeUser(scene, sql`state = 'blocked'`),
  },
  {
    name: "with a revoked token",
    had: { grants: [it("owner")] },
    left: { grants: [it("owner")], refused: 401 },
    lose: ({ app, user, admin: token }) => done(app.delete(`/personal_access_tokens/${user.tokenId}`, { token })),
  },
  {
    name: "with a token past its end",
    had: { grants: [it("owner")] },
    left: { grants: [it("owner")], refused: 401 },
    lose: ({ app, user }) =>
      sql`update personal_access_tokens set expires_at = ${today} where id = ${user.tokenId}`.execute(
        app.services.db.write,
      ),
  },
  {
    name: "above, when it was moved elsewhere",
    had: { grants: [above] },
    left: NOTHING,
    lose: ({ app, place, world: { land }, admin: token }) =>
      done(
        place.kind === "group"
          ? app.post(`/groups/${place.id}/transfer`, { token, payload: { group_id: land.group } })
          : app.put(`/projects/${place.id}/transfer`, { token, payload: { namespace: land.group } }),
      ),
  },
  {
    name: "owner of what is gone",
    had: { grants: [it("owner")] },
    left: { ...NOTHING, gone: true },
    async lose({ app, place }) {
      const db = app.services.db.write;
      if (place.kind === "project") return sql`delete from projects where id = ${place.id}`.execute(db);
      await sql`delete from projects where namespace_id = ${place.id}`.execute(db);
      await sql`delete from namespaces where parent_id = ${place.id}`.execute(db);
      return sql`delete from namespaces where id = ${place.id}`.execute(db);
    },
  },
];
