import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { linkApp, type LinkApp } from "#domains/planning/links/test-support.ts";
import type { TestUser } from "#test/support/app.ts";

const NAMES = ["a", "b", "c", "d", "e"];
const CALLERS = 4;

type Step =
  | { readonly do: "set" | "add" | "remove"; readonly labels: readonly string[] }
  | { readonly do: "delete"; readonly label: string }
  | { readonly do: "move" };

const someLabels = fc.subarray(NAMES);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom("set", "add", "remove"), labels: someLabels }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete"), label: fc.constantFrom(...NAMES) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("move") }) },
);

/** An item, and for an issue the project that it may be moved to. */
interface Target {
  readonly path: string;
  readonly labels: string;
  readonly to?: number;
}

/** Replaying the events of an item in their order must give exactly the labels that it has. */
describe("label events replayed", () => {
  let links: LinkApp;
  let users: TestUser[];
  before(async () => {
    links = await linkApp();
    users = await Promise.all(Array.from({ length: CALLERS }, () => links.app.makeUser()));
  });
  after(() => links.app.close());

  async function container(kind: "project" | "group"): Promise<number> {
    const [first, ...others] = users;
    const id = await (kind === "project" ? links.project(first!, "owner") : links.group(first!, "owner"));
    for (const user of others) await links.insert.member(user, { [`${kind}_id`]: id }, "planner");
    return id;
  }

  async function make(kind: "project" | "group"): Promise<Target> {
    const [first] = users;
    const id = await container(kind);
    const items = kind === "project" ? "issues" : "epics";
    const { body } = await links.app.post(`/${kind}s/${id}/${items}`, {
      token: first!.token,
      payload: { title: "Item", labels: "a,b" },
    });
    const path = `/${kind}s/${id}/${items}/${body.iid}`;
    return { labels: `/${kind}s/${id}/labels`, path };
  }

  async function run(target: Target, step: Step, { token }: TestUser) {
    if (step.do === "move") {
      if (target.to === undefined) return links.app.get(target.path, { token });
      return links.app.post(`${target.path}/move`, { token, payload: { to_project_id: target.to } });
    }
    if (step.do === "delete") return links.app.delete(`${target.labels}/${step.label}`, { token });
    const name = step.do === "set" ? "labels" : `${step.do}_labels`;
    return links.app.put(target.path, { token, payload: { [name]: step.labels.join(",") } });
  }

  /** A project with some of the labels, to which the issue may be moved. */
  async function destination(): Promise<number> {
    const id = await container("project");
    const { status } = await links.app.post(`/projects/${id}/issues`, {
      token: users[0]!.token,
      payload: { title: "Has labels", labels: "a,b,c" },
    });
    assert.equal(status, 201);
    return id;
  }

  /** Compares every issue of the project that something was moved to; changes go on with the old issue. */
  async function compareMoved({ to }: Target) {
    if (to === undefined) return;
    const { body } = await links.app.get(`/projects/${to}/issues`, { token: users[0]!.token });
    for (const { iid } of body) await compare({ path: `/projects/${to}/issues/${iid}` });
  }

  async function compare({ path }: { path: string }) {
    const { token } = users[0]!;
    const { body } = await links.app.get(path, { token });
    const held = new Set<string>();
    for (let page = 1; ; page++) {
      const { body: events } = await links.app.get(`${path}/resource_label_events?per_page=100&page=${page}`, {
        token,
      });
      for (const { action, label } of events) {
        // A label that was created again under its name is another one.
        if (label === null) continue;
        assert.equal(held.has(label.name), action === "remove", `${action} ${label.name} twice`);
        if (action === "add") held.add(label.name);
        else held.delete(label.name);
      }
      if (events.length < 100) break;
    }
    assert.deepEqual([...held].toSorted(), body.labels);
  }

  for (const kind of ["project", "group"] as const) {
    test(`give the labels of an item of a ${kind}, whoever changes, deletes or moves at once`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyStep, { minLength: 4, maxLength: 16 }), async (steps) => {
          const target = { ...(await make(kind)), ...(kind === "project" && { to: await destination() }) };
          // Each caller does every fourth step, all of them at the same time.
          await Promise.all(
            users.map(async (user, caller) => {
              for (const step of steps.filter((_, index) => index % CALLERS === caller)) {
                const { status, text } = await run(target, step, user);
                assert.ok(status < 500 && status !== 403, `${step.do} ${status} ${text}`);
              }
            }),
          );
          await compare(target);
          await compareMoved(target);
        }),
        { numRuns: 12 },
      );
    });
  }

  test("an issue that was moved begins with the labels it keeps", async () => {
    const [from, to] = [await make("project"), await make("project")];
    const { token } = users[0]!;
    const target = Number(to.path.split("/")[2]);
    await links.app.put(from.path, { token, payload: { labels: "a,b,z" } });
    const moved = await links.app.post(`${from.path}/move`, { token, payload: { to_project_id: target } });
    assert.equal(moved.status, 201, moved.text);
    const path = `/projects/${target}/issues/${moved.body.iid}`;
    await compare({ path });
    await compare(from);
    const { body } = await links.app.get(`${path}/resource_label_events`, { token });
    assert.ok(body.every(({ action }: { action: string }) => action === "add"));
    assert.deepEqual(body.map(({ label }: { label: { name: string } }) => label.name).toSorted(), moved.body.labels);
  });

  test("a change without its event is noticed", async () => {
    const target = await make("project");
    await compare(target);
    const { write } = links.app.services.db;
    const { body } = await links.app.get(target.path, { token: users[0]!.token });
    await write.deleteFrom("label_links").where("issue_id", "=", body.id).execute();
    await assert.rejects(compare(target));
  });
});
