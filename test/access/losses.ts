import assert from "node:assert/strict";
import { sql } from "kysely";
import { deletions } from "#domains/index.ts";
import { removeBatchOfRows } from "#domains/foundation/deletions/deletions.ts";
import type { Caller, Grant } from "#test/matrix/callers.ts";
import type { TestContainer } from "#test/matrix/tree.ts";
import type { Visibility } from "#test/matrix/line.ts";
import type { Account, World } from "#test/matrix/world.ts";
import type { TestApp } from "#test/support/app.ts";

/** Where a loss happens. */
export interface Scene {
  /** The process that makes the change. */
  readonly app: TestApp;
  readonly world: World;
  readonly container: TestContainer;
  readonly user: Account;
  /** The token of the administrator who makes the change. */
  readonly admin: string;
}

/** The access of a caller in the model of the matrix. */
type CallerAccess = Partial<Pick<Caller, "role" | "account" | "grants" | "refused">> & {
  readonly visibility?: Visibility;
};

/** How a caller loses access; `left` is the access that remains. */
export interface Loss {
  readonly name: string;
  readonly had: CallerAccess;
  readonly left: CallerAccess & { readonly gone?: true };
  lose(scene: Scene): Promise<unknown>;
}

const it = (level: Grant["level"]): Grant => ({ at: "it", level });
const above: Grant = { at: "above", level: "owner" };
const shared: Grant = { at: "it", level: "owner", share: { upTo: "owner" } };
const sharedAbove: Grant = { at: "above", level: "owner", share: { upTo: "owner" } };
const NOTHING: CallerAccess = { grants: [] };

const addressOf = ({ kind, id }: TestContainer) => `/${kind}s/${id}`;
const today = sql`(now() at time zone 'UTC')::date`;

async function done(reply: Promise<{ status: number; text: string }>) {
  const { status, text } = await reply;
  assert.ok(status < 300, `${status} ${text}`);
}

const column = ({ kind }: TestContainer) => sql.ref(`${kind}_id`);
const changeUser = ({ app, user }: Scene, change: ReturnType<typeof sql>) =>
  sql`update users set ${change} where id = ${user.id}`.execute(app.services.db.write);

/** The subgroup that the place is shared with, through which the caller has access. */
async function invited({ app, container }: Scene): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select s.with_group_id as id from shares s join namespaces n on n.id = s.with_group_id
    where s.${column(container)} = ${container.id} and n.visibility = 0 and n.parent_id is not null`.execute(
    app.services.db.write,
  );
  return rows[0]?.id ?? 0;
}

export const losses: readonly Loss[] = [
  {
    name: "removed from it",
    had: { grants: [it("owner")] },
    left: NOTHING,
    lose: ({ app, container, user, admin: token }) =>
      done(app.delete(`${addressOf(container)}/members/${user.id}`, { token })),
  },
  {
    name: "removed from the group above",
    had: { grants: [above] },
    left: NOTHING,
    lose: ({ app, container, user, admin: token }) =>
      done(app.delete(`/groups/${container.top}/members/${user.id}`, { token })),
  },
  {
    name: "lowered to Guest",
    had: { grants: [it("owner")] },
    left: { grants: [it("guest")] },
    lose: ({ app, container, user, admin: token }) =>
      done(app.put(`${addressOf(container)}/members/${user.id}`, { token, payload: { access_level: 10 } })),
  },
  {
    name: "past the end of the membership",
    had: { grants: [it("owner")] },
    left: NOTHING,
    lose: ({ app, container, user }) =>
      sql`update members set expires_at = ${today} where ${column(container)} = ${container.id} and user_id = ${user.id}`.execute(
        app.services.db.write,
      ),
  },
  {
    name: "no longer by a share",
    had: { grants: [shared] },
    left: NOTHING,
    lose: async (scene) =>
      done(scene.app.delete(`${addressOf(scene.container)}/share/${await invited(scene)}`, { token: scene.admin })),
  },
  {
    name: "no longer by a share above",
    had: { grants: [sharedAbove] },
    left: NOTHING,
    lose: ({ app, container: { top } }) =>
      sql`delete from shares where group_id = ${top}`.execute(app.services.db.write),
  },
  {
    name: "past the end of a share",
    had: { grants: [shared] },
    left: NOTHING,
    lose: ({ app, container }) =>
      sql`update shares set expires_at = ${today} where ${column(container)} = ${container.id}`.execute(
        app.services.db.write,
      ),
  },
  {
    name: "by a share that gives less",
    had: { grants: [shared] },
    left: { grants: [{ at: "it", level: "owner", share: { upTo: "guest" } }] },
    lose: ({ app, container }) =>
      sql`update shares set access_level = 10 where ${column(container)} = ${container.id}`.execute(
        app.services.db.write,
      ),
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
    lose: ({ app, container }) =>
      sql`update ${sql.table(container.kind === "group" ? "namespaces" : "projects")} set visibility = 0
          where id = ${container.id}`.execute(app.services.db.write),
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
    lose: ({ app, container, world: { tree }, admin: token }) =>
      done(
        container.kind === "group"
          ? app.post(`/groups/${container.id}/transfer`, { token, payload: { group_id: tree.group } })
          : app.put(`/projects/${container.id}/transfer`, { token, payload: { namespace: tree.group } }),
      ),
  },
  {
    name: "owner of what is gone",
    had: { grants: [it("owner")] },
    left: { ...NOTHING, gone: true },
    async lose({ app, container }) {
      const { db } = app.services;
      const removeRows = (batches: typeof deletions.ofGroups, ids: readonly number[]) =>
        db.transaction(async (tx) => {
          while ((await removeBatchOfRows(tx, ids, batches, app.services)) > 0);
        });
      const remove = async (from: "projects" | "namespaces", column: "id" | "namespace_id" | "parent_id") => {
        const found = await sql<{ id: number }>`
          select id from ${sql.table(from)} where ${sql.ref(column)} = ${container.id}`.execute(db.write);
        const ids = found.rows.map(({ id }) => id);
        await removeRows(from === "projects" ? deletions.ofProjects : deletions.ofGroups, ids);
        return sql`delete from ${sql.table(from)} where id = any(${ids}::bigint[])`.execute(db.write);
      };
      if (container.kind === "project") return remove("projects", "id");
      await remove("projects", "namespace_id");
      await remove("namespaces", "parent_id");
      return remove("namespaces", "id");
    },
  },
];
