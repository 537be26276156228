import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp } from "#test/support/app.ts";
import { type EpicGroup, epicsOn } from "./test-support.ts";

interface Made {
  readonly id: number;
  readonly iid: number;
}

describe("child epics", () => {
  let app: TestApp;
  let on: ReturnType<typeof epicsOn>;
  before(async () => {
    app = await testApp();
    on = epicsOn(app);
  });
  after(() => app.close());

  const add = ({ epics, owner: { token } }: EpicGroup, parent: Made, child: Made) =>
    app.post(`${epics}/${parent.iid}/epics/${child.id}`, { token });
  const remove = ({ epics, owner: { token } }: EpicGroup, parent: Made, child: Made) =>
    app.delete(`${epics}/${parent.iid}/epics/${child.id}`, { token });
  const move = ({ epics, owner: { token } }: EpicGroup, parent: Made, child: Made, payload: object) =>
    app.put(`${epics}/${parent.iid}/epics/${child.id}`, { token, payload });
  const childrenOf = async ({ epics, owner: { token } }: EpicGroup, parent: Made): Promise<number[]> =>
    (await app.get(`${epics}/${parent.iid}/epics`, { token })).body.map(({ id }: Made) => id);

  test("an epic of the same group or one below is added, listed and removed", async () => {
    const group = await on.epicGroup();
    const below = await on.epicGroup(group);
    const parent = await on.created(group);
    const [one, two] = [await on.created(group), await on.created(below)];
    for (const child of [one, two]) {
      const { status, body } = await add(group, parent, child);
      assert.deepEqual([status, body.id, body.parent_id, body.parent_iid], [201, child.id, parent.id, parent.iid]);
    }
    assert.deepEqual(await childrenOf(group, parent), [one.id, two.id]);
    assert.equal((await add(group, parent, one)).status, 201, "again, without effect");
    assert.deepEqual(await childrenOf(group, parent), [one.id, two.id]);
    const removed = await remove(group, parent, one);
    assert.deepEqual([removed.status, removed.body.id, removed.body.parent_id], [200, one.id, null]);
    assert.deepEqual(await childrenOf(group, parent), [two.id]);
    assert.equal((await remove(group, parent, one)).status, 404);
  });

  test("one is created below another, as confidential as that one", async () => {
    const group = await on.epicGroup();
    const parent = await on.created(group, { confidential: true });
    const { token } = group.owner;
    const { status, body } = await app.post(`${group.epics}/${parent.iid}/epics`, { token, payload: { title: "Leg" } });
    assert.equal(status, 201);
    assert.deepEqual([body.parent_id, body.confidential, body.title], [parent.id, true, "Leg"]);
    assert.deepEqual(await childrenOf(group, parent), [body.id]);
  });

  test("the group of the child must be the parent's or below it", async () => {
    const group = await on.epicGroup();
    const below = await on.epicGroup(group);
    const beside = await on.epicGroup(group);
    const [upper, inner, other] = [await on.created(group), await on.created(below), await on.created(beside)];
    for (const { status, body } of [
      await on.put(group, upper.iid, { parent_id: inner.id }),
      await on.put(beside, other.iid, { parent_id: inner.id }),
      await on.post(group, { parent_id: inner.id }),
    ]) {
      const message = "The parent must be in the same group as the child epic, or in a group above it";
      assert.deepEqual([status, body], [422, { message }]);
    }
    for (const { status, body } of [await add(below, inner, upper), await add(below, inner, other)])
      assert.deepEqual([status, body], [404, { message: "404 Not found" }]);
  });

  test("circles are refused", async () => {
    const group = await on.epicGroup();
    const [a, b, c] = [await on.created(group), await on.created(group), await on.created(group)];
    await add(group, a, b);
    await add(group, b, c);
    for (const [parent, child] of [
      [a, a],
      [b, a],
      [c, a],
    ] as const) {
      for (const { status, body } of [
        await add(group, parent, child),
        await on.put(group, child.iid, { parent_id: parent.id }),
      ])
        assert.deepEqual(
          [status, body],
          [422, { message: "An epic cannot be below itself or one of its own child epics" }],
        );
    }
    assert.deepEqual(await childrenOf(group, a), [b.id]);
  });

  test("seven levels are allowed, counted with what is above and below", async () => {
    const group = await on.epicGroup();
    const chain = async (length: number): Promise<Made[]> => {
      const made: Made[] = [];
      for (let n = 0; n < length; n++) made.push(await on.created(group, { parent_id: made.at(-1)?.id ?? null }));
      return made;
    };
    const seven = await chain(7);
    const message = "Epics cannot be nested in more than 7 levels";
    const eighth = await on.post(group, { parent_id: seven.at(-1)?.id });
    assert.deepEqual([eighth.status, eighth.body], [422, { message }]);
    const [three, four, five] = [await chain(3), await chain(4), await chain(5)];
    assert.equal((await add(group, three.at(-1)!, five[0]!)).status, 422);
    assert.equal((await add(group, three.at(-1)!, four[0]!)).status, 201);
  });

  test("concurrent changes of parents close no circle", async () => {
    const group = await on.epicGroup();
    const pair = async () => {
      const upper = await on.created(group);
      return { upper, lower: await on.created(group, { parent_id: upper.id }) };
    };
    for (let round = 0; round < 8; round++) {
      const [one, two] = [await pair(), await pair()];
      // Each upper below the lower of the other pair: no row is in both requests, and together they are a circle.
      const replies = await Promise.all([
        on.put(group, one.upper.iid, { parent_id: two.lower.id }),
        on.put(group, two.upper.iid, { parent_id: one.lower.id }),
      ]);
      assert.deepEqual(
        replies.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 422],
      );
    }
    const { rows } = await sql<{ id: number }>`
      with recursive above as (
        select id as start, parent_id, 1 as level from epics where group_id = ${group.id}
        union all select a.start, e.parent_id, a.level + 1 from above a join epics e on e.id = a.parent_id where a.level < 9)
      select start from above where start = parent_id`.execute(app.services.db.write);
    assert.deepEqual(rows, []);
  });

  test("a confidential epic has confidential children only", async () => {
    const group = await on.epicGroup();
    const [secret, open] = [await on.created(group, { confidential: true }), await on.created(group)];
    const added = "A confidential epic cannot have a child epic that is not confidential";
    for (const { status, body } of [
      await add(group, secret, open),
      await on.put(group, open.iid, { parent_id: secret.id }),
      await on.post(group, { parent_id: secret.id }),
    ])
      assert.deepEqual([status, body], [422, { message: added }]);
    assert.equal((await on.put(group, open.iid, { parent_id: secret.id, confidential: true })).status, 200);
    const opened = await on.put(group, open.iid, { confidential: false });
    assert.deepEqual([opened.status, opened.body.message], [422, "The epic must stay confidential"]);
    assert.equal((await on.put(group, secret.iid, { confidential: false })).status, 200);
    assert.equal((await on.put(group, open.iid, { confidential: false })).status, 200);
    const closed = await on.put(group, secret.iid, { confidential: true });
    assert.deepEqual(
      [closed.status, closed.body.message],
      [422, "A confidential epic cannot have issues or child epics that are not confidential"],
    );
  });

  test("children are moved before and after others, and hidden ones are not shown", async () => {
    const group = await on.epicGroup();
    const parent = await on.created(group);
    const [a, b, c] = [
      await on.created(group, { parent_id: parent.id }),
      await on.created(group, { parent_id: parent.id }),
      await on.created(group, { parent_id: parent.id, confidential: true }),
    ];
    const orderAfter = async (child: Made, position: object) => {
      const { status, body, text } = await move(group, parent, child, position);
      assert.equal(status, 200, text);
      const ids = body.map(({ id }: Made) => id);
      assert.deepEqual(ids, await childrenOf(group, parent));
      return ids;
    };
    assert.deepEqual(await orderAfter(a, { move_before_id: b.id }), [b.id, a.id, c.id]);
    assert.deepEqual(await orderAfter(c, { move_after_id: b.id }), [c.id, b.id, a.id]);
    assert.deepEqual(await orderAfter(c, { move_before_id: a.id }), [b.id, a.id, c.id]);
    for (let n = 0; n < 30; n++) {
      assert.deepEqual(await orderAfter(c, { move_before_id: b.id }), [b.id, c.id, a.id]);
      assert.deepEqual(await orderAfter(a, { move_before_id: b.id }), [b.id, a.id, c.id]);
    }
    for (const { status } of [
      await move(group, parent, a, { move_before_id: parent.id }),
      await move(group, parent, a, { move_before_id: a.id }),
      await move(group, parent, parent, { move_before_id: a.id }),
    ])
      assert.equal(status, 404);
    assert.equal((await move(group, parent, a, {})).status, 400);
    const guest = await on.inRole(group, "guest");
    const { body } = await app.get(`${group.epics}/${parent.iid}/epics`, { token: guest.token });
    assert.deepEqual(
      body.map(({ id }: Made) => id),
      [b.id, a.id],
    );
  });

  test("an epic has at most 1000 children", async () => {
    const group = await on.epicGroup();
    const parent = await on.created(group);
    await sql`insert into epics (group_id, iid, title, parent_id, relative_position)
      select ${group.id}, 1000 + n, 'x', ${parent.id}, n from generate_series(1, 1000) n`.execute(
      app.services.db.write,
    );
    const { status, body } = await on.post(group, { parent_id: parent.id });
    assert.deepEqual([status, body], [422, { message: "An epic cannot have more than 1000 child epics" }]);
  });

  test("after a group was moved, its epics keep relatives elsewhere, but get no others", async () => {
    const group = await on.epicGroup();
    const below = await on.epicGroup(group);
    const [upper, inner] = [await on.created(group), await on.created(below)];
    await add(group, upper, inner);
    const { token } = group.owner;
    assert.equal((await app.post(`/groups/${below.id}/transfer`, { token })).status, 201);
    const lone = await on.created(below);
    const { status, body } = await add(below, inner, lone);
    const message = "The parent and all child epics must be in one top-level group";
    assert.deepEqual([status, body], [422, { message }]);
    assert.equal((await on.put(below, inner.iid, { parent_id: null })).status, 200);
    assert.equal((await add(below, inner, lone)).status, 201);
  });

  test("a child in an archived group stays where it is", async () => {
    const group = await on.epicGroup();
    const below = await on.epicGroup(group);
    const [parent, child] = [await on.created(group), await on.created(below)];
    await app.services.db.write.updateTable("namespaces").set({ archived: true }).where("id", "=", below.id).execute();
    const { status, body } = await add(group, parent, child);
    assert.deepEqual([status, body], [403, { message: "403 Forbidden - The group of the child epic is archived" }]);
  });
});
