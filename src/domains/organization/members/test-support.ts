import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type Insertable, sql } from "kysely";
import { LEVELS, VISIBILITIES } from "#access/roles.ts";
import type { Database } from "#db/types.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

type Row<Table extends keyof Database> = Partial<Insertable<Database[Table]>>;

/** Inserts groups, projects, memberships and shares for one test directly into the database. */
export function rowInserter({ services }: TestApp) {
  const { write } = services.db;
  const word = () => `w-${randomUUID().slice(0, 13)}`;

  async function group(parent?: number, columns: Row<"namespaces"> = {}): Promise<number> {
    const name = word();
    const row = { kind: "group" as const, name, path: name, parent_id: parent ?? null, ...columns };
    return (await write.insertInto("namespaces").values(row).returning("id").executeTakeFirstOrThrow()).id;
  }

  async function project(namespace_id: number, columns: Row<"projects"> = {}): Promise<number> {
    const name = word();
    const row = { name, path: name, namespace_id, visibility: VISIBILITIES.private, ...columns };
    return (await write.insertInto("projects").values(row).returning("id").executeTakeFirstOrThrow()).id;
  }

  return {
    group,
    project,
    /** A private group, or a private project in a group of its own; its address, and the group's id. */
    async place(kind: "group" | "project") {
      const groupId = await group(undefined, { visibility: VISIBILITIES.private });
      const id = kind === "group" ? groupId : await project(groupId);
      return { id, groupId, address: `/${kind}s/${id}`, of: { [`${kind}_id`]: id } };
    },
    /** `ends` is a number of days from today. */
    async member(user: { id: number }, of: Row<"members">, level: keyof typeof LEVELS, ends?: number) {
      const expires_at = ends === undefined ? null : sql<string>`(now() at time zone 'UTC')::date + ${sql.lit(ends)}`;
      await write
        .insertInto("members")
        .values({ user_id: user.id, access_level: LEVELS[level], expires_at, ...of })
        .execute();
    },
    async share(of: Row<"shares">, withGroup: number, level: keyof typeof LEVELS) {
      const row = { with_group_id: withGroup, access_level: LEVELS[level], ...of };
      await write.insertInto("shares").values(row).execute();
    },
  };
}

export type RowInserter = ReturnType<typeof rowInserter>;

/** An application with a private group and its Owner, another user and an administrator, and functions that read. */
export async function privateGroup() {
  const app = await testApp();
  const insert = rowInserter(app);
  const [owner, user, admin] = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser({ admin: true })]);
  const group = await insert.group(undefined, { visibility: VISIBILITIES.private });
  await insert.member(owner, { group_id: group }, "owner");
  const get = async (address: string, token?: string) => {
    const { status, body, text } = await app.get(address, { token });
    assert.equal(status, 200, `${address} ${text}`);
    return body;
  };
  const idsAt = async (address: string, token?: string): Promise<number[]> =>
    (await get(address, token)).map(({ id }: { readonly id: number }) => id);
  return { app, insert, owner, user, admin, group, get, idsAt };
}

export type PrivateGroup = Awaited<ReturnType<typeof privateGroup>>;

/** The UTC date in so many days. */
export const dayFromNow = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
