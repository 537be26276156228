import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Reply, TestUser } from "#test/support/app.ts";
import { type Item, linkApp, type LinkApp } from "./test-support.ts";

/** Links to items that the caller may not see, or may no longer see. */
describe("hidden ends of links", () => {
  let links: LinkApp;
  let member: TestUser;
  let guest: TestUser;
  before(async () => {
    links = await linkApp();
    member = await links.app.makeUser();
    guest = await links.app.makeUser();
  });
  after(() => links.app.close());

  const db = () => links.app.services.db.write;
  const MISSING = { message: "404 Not found" };

  /** Two items that the member owns; the guest sees both, and may link those of epics. */
  async function linkedPair(kind: "issue" | "epic") {
    const places = await Promise.all([place(kind), place(kind)]);
    const [a, b] = [await links[kind](places[0]), await links[kind](places[1])];
    const { id } = await links.linked(member, a, b, "blocks");
    return { a, b, id, list: kind === "issue" ? "links" : "related_epics" };
  }

  async function place(kind: "issue" | "epic"): Promise<number> {
    if (kind === "epic") {
      const id = await links.group(member, "owner");
      await links.insert.member(guest, { group_id: id }, "guest");
      return id;
    }
    const id = await links.project(member, "owner");
    await links.insert.member(guest, { project_id: id }, "guest");
    return id;
  }

  const HIDINGS: readonly [how: string, hide: (kind: "issue" | "epic", item: Item) => Promise<unknown>][] = [
    [
      "confidential",
      (kind, { id }) =>
        db()
          .updateTable(kind === "issue" ? "issues" : "epics")
          .set({ confidential: true })
          .where("id", "=", id)
          .execute(),
    ],
    [
      "in a place that the caller was removed from",
      (kind, { of }) =>
        db()
          .deleteFrom("members")
          .where(kind === "issue" ? "project_id" : "group_id", "=", of)
          .where("user_id", "=", guest.id)
          .execute(),
    ],
    [
      "in a project without issues",
      (_, { of }) =>
        db().updateTable("projects").set({ issues_access_level: "disabled" }).where("id", "=", of).execute(),
    ],
  ];

  for (const kind of ["issue", "epic"] as const) {
    for (const [how, hide] of HIDINGS) {
      if (kind === "epic" && how.includes("without issues")) continue;
      test(`S-56: no answer shows an ${kind} that is ${how}, not even when its link is deleted`, async () => {
        const { a, b, id, list } = await linkedPair(kind);
        const ask = async (): Promise<Reply[]> => {
          const { token } = guest;
          return Promise.all([
            links.app.get(a.path, { token }),
            links.app.get(`${a.path}/${list}`, { token }),
            ...(kind === "issue"
              ? [links.app.get(`${a.path}/links/${id}`, { token }), links.app.get(`${a.path}/links/graph`, { token })]
              : [links.app.get(`/groups/${a.of}/related_epic_links`, { token })]),
          ]);
        };
        const shown = await ask();
        assert.ok(shown.slice(1).every(({ text }) => text.includes(b.title)));
        await hide(kind, b);
        const [item, listed, ...others] = await ask();
        assert.equal(item?.status, 200);
        if (kind === "issue") assert.equal(item?.body.blocking_issues_count, 0);
        assert.deepEqual(listed?.body, []);
        assert.equal(listed?.headers["x-total"], "0");
        const deleted = await links.app.delete(`${a.path}/${list}/${id}`, { token: guest.token });
        assert.deepEqual([deleted.status, deleted.body], [404, MISSING]);
        for (const { text } of [item, listed, ...others, deleted]) {
          assert.ok(!text.includes(b.title));
          assert.ok(!text.includes(`"id":${b.id},`));
        }
        assert.equal(
          (await links.app.delete(`${a.path}/${list}/999999999`, { token: guest.token })).text,
          deleted.text,
        );
        assert.equal((await links.app.get(`${a.path}/${list}`, member)).body.length, how.includes("without") ? 0 : 1);
      });
    }

    test(`S-57: only links of which both ends are readable are listed and counted for an ${kind}`, async () => {
      const { a, list } = await linkedPair(kind);
      const hidden = await links[kind](await place(kind), { confidential: true });
      await links.linked(member, a, hidden);
      const { body, headers } = await links.app.get(`${a.path}/${list}`, guest);
      assert.deepEqual([body.length, headers["x-total"]], [1, "1"]);
      if (kind === "epic") {
        const of = await links.app.get(`/groups/${a.of}/related_epic_links`, guest);
        assert.deepEqual([of.body.length, of.headers["x-total"]], [1, "1"]);
      }
    });

    test(`S-58: a hidden target is answered like a missing one for an ${kind}`, async () => {
      const own = await links[kind](await place(kind));
      const confidential = await links[kind](own.of, { confidential: true });
      const foreign = await links[kind](kind === "issue" ? await links.project(member) : await links.group(member));
      const asked = guest;
      // The guest may link issues that they wrote.
      if (kind === "issue")
        await db().updateTable("issues").set({ author_id: guest.id }).where("id", "=", own.id).execute();
      const missingItem = await links.link(asked, own, { ...own, iid: 99_999 });
      const missingPlace = await links.link(asked, own, { ...own, of: 999_999_999 });
      assert.deepEqual([missingItem.status, missingPlace.status], [404, 404]);
      assert.equal((await links.link(asked, own, confidential)).text, missingItem.text);
      assert.equal((await links.link(asked, own, foreign)).text, missingPlace.text);
    });
  }

  test("the graph does not pass through an issue that the caller may not see", async () => {
    const project = await place("issue");
    const [a, hidden, behind, beside] = await Promise.all([
      links.issue(project),
      links.issue(project, { confidential: true }),
      links.issue(project),
      links.issue(project),
    ]);
    await links.linked(member, a, hidden, "blocks");
    await links.linked(member, hidden, behind, "blocks");
    await links.linked(member, beside, a, "relates_to");
    const graph = async ({ token }: TestUser, depth = 2) =>
      (await links.app.get(`${a.path}/links/graph?depth=${depth}`, { token })).body;
    const all = await graph(member);
    assert.deepEqual(
      idsOf(all.nodes),
      [a.id, hidden.id, behind.id, beside.id].toSorted((one, other) => one - other),
    );
    assert.equal(all.edges.length, 3);
    assert.deepEqual(
      idsOf((await graph(member, 1)).nodes),
      [a.id, hidden.id, beside.id].toSorted((x, y) => x - y),
    );
    const seen = await graph(guest, 5);
    assert.deepEqual(
      idsOf(seen.nodes),
      [a.id, beside.id].toSorted((one, other) => one - other),
    );
    assert.deepEqual([seen.edges.length, seen.truncated], [1, false]);
    assert.equal((await links.app.get(`${a.path}/links/graph?depth=6`, guest)).status, 400);
  });
});

const idsOf = (nodes: readonly { readonly id: number }[]) => nodes.map(({ id }) => id);
