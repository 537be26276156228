import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type LEVELS, VISIBILITIES } from "#access/roles.ts";
import { rowInserter } from "#domains/organization/members/test-support.ts";
import { type Reply, testApp, type TestUser } from "#test/support/app.ts";

/** An issue or epic with the path of its own. */
export interface Item {
  readonly id: number;
  readonly iid: number;
  /** The project or group. */
  readonly of: number;
  readonly path: string;
  readonly title: string;
}

/** An application with functions that insert projects, groups, issues and epics, and link them by requests. */
export async function linkApp(options: Parameters<typeof testApp>[0] = {}) {
  const app = await testApp(options);
  const insert = rowInserter(app);
  const { write } = app.services.db;
  let last = 0;
  const columns = (given: object) => ({ iid: ++last, title: `Title ${randomUUID()}`, ...given });

  async function issue(project_id: number, given: object = {}): Promise<Item> {
    const row = { project_id, ...columns(given) };
    const { id } = await write.insertInto("issues").values(row).returning("id").executeTakeFirstOrThrow();
    return { ...row, id, of: project_id, path: `/projects/${project_id}/issues/${row.iid}` };
  }

  async function epic(group_id: number, given: object = {}): Promise<Item> {
    const row = { group_id, ...columns(given) };
    const { id } = await write.insertInto("epics").values(row).returning("id").executeTakeFirstOrThrow();
    return { ...row, id, of: group_id, path: `/groups/${group_id}/epics/${row.iid}` };
  }

  const link = ({ token }: TestUser, from: Item, to: Item, link_type?: string): Promise<Reply> =>
    from.path.startsWith("/projects")
      ? app.post(`${from.path}/links`, {
          token,
          payload: { target_project_id: to.of, target_issue_iid: to.iid, link_type },
        })
      : app.post(`${from.path}/related_epics`, {
          token,
          payload: { target_group_id: to.of, target_epic_iid: to.iid, link_type },
        });

  return {
    ...{ app, insert, issue, epic, link },
    /** Inserts a chain in which each issue blocks the next. */
    async chain(project: number, count: number): Promise<Item[]> {
      const items = await Promise.all(Array.from({ length: count }, () => issue(project)));
      const rows = items.slice(1).map(({ id }, index) => ({
        ...{ source_id: items[index]!.id, target_id: id, link_type: "blocks" as const },
      }));
      await write.insertInto("issue_links").values(rows).execute();
      return items;
    },
    /** Checks that no link makes a chain a circle, whichever of its ends names the other. */
    async refusesCircle(user: TestUser, items: readonly Item[]) {
      const [first, last] = [items[0]!, items.at(-1)!];
      for (const [from, to, type] of [
        [last, first, "blocks"],
        [first, last, "is_blocked_by"],
      ] as const) {
        const { status, body } = await link(user, from, to, type);
        assert.deepEqual(
          [status, body.message],
          [422, "The link would close a circle of issues that block each other"],
        );
      }
    },
    /** Links two items, and returns the response's body. */
    async linked(...[user, from, to, type]: Parameters<typeof link>) {
      const { status, body, text } = await link(user, from, to, type);
      assert.equal(status, 201, text);
      return body;
    },
    /** A project in a group of its own, with a member. */
    async project(user: TestUser, role: keyof typeof LEVELS = "planner", given: object = {}): Promise<number> {
      const id = await insert.project(await insert.group(), { visibility: VISIBILITIES.private, ...given });
      await insert.member(user, { project_id: id }, role);
      return id;
    },
    async group(user: TestUser, role: keyof typeof LEVELS = "guest", given: object = {}): Promise<number> {
      const id = await insert.group(undefined, { visibility: VISIBILITIES.private, ...given });
      await insert.member(user, { group_id: id }, role);
      return id;
    },
  };
}

export type LinkApp = Awaited<ReturnType<typeof linkApp>>;
