import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type AlertProject, type AlertsApp, alertsApp } from "./test-support.ts";

interface Shown {
  readonly action: string;
  readonly user: { readonly id: number } | null;
  readonly from_status: string | null;
  readonly to_status: string | null;
  readonly assignee: { readonly id: number } | null;
}

/** The changes on a timeline, the first one first. */
const changesOf = ({ timeline }: { readonly timeline: readonly Shown[] }) =>
  timeline
    .toReversed()
    .map(({ action, user, from_status, to_status, assignee }) => [
      ...[action, user?.id ?? null],
      ...(assignee ? [assignee.id] : [from_status, to_status]),
    ]);

describe("changes of an alert", () => {
  let on: AlertsApp;
  let at: AlertProject;
  before(async () => {
    on = await alertsApp();
    at = await on.project();
  });
  after(() => on.app.close());

  test("any status follows any other, and only a resolved alert has ended", async () => {
    const { iid } = await on.alert(at);
    const statuses = ["acknowledged", "resolved", "ignored", "triggered", "ignored", "resolved", "acknowledged"];
    let from = "triggered";
    const expected = [];
    for (const status of statuses) {
      const alert = await on.change(at, iid, { status });
      assert.deepEqual([alert.status, alert.ended_at !== null], [status, status === "resolved"]);
      expected.push(["status_changed", at.developer.id, from, status]);
      from = status;
    }
    assert.deepEqual(changesOf(await on.get(at, `/${iid}`)), expected);
  });

  test("the end is when it was resolved, and a change moves updated_at", async () => {
    const long = "2020-01-01T00:00:00.000Z";
    const { iid } = await on.alert(at, { created_at: long, updated_at: long });
    const { created_at, updated_at, ended_at } = await on.change(at, iid, { status: "resolved" });
    assert.equal(created_at, long);
    assert.ok(updated_at > long);
    assert.equal(ended_at, updated_at);
  });

  test("one person is assigned: the first that is named, in place of the one before", async () => {
    const { iid } = await on.alert(at);
    const [one, two] = [await on.member(at, "developer"), await on.member(at, "maintainer")];
    const assigned = await on.change(at, iid, { assignee_ids: [one.id, two.id] });
    assert.deepEqual(
      assigned.assignees.map(({ username }: { username: string }) => username),
      [one.username],
    );
    await on.change(at, iid, { assignee_ids: [two.id], status: "acknowledged" });
    const { assignees, timeline } = await on.change(at, iid, { assignee_ids: [] });
    assert.deepEqual(assignees, []);
    const who = at.developer.id;
    assert.deepEqual(changesOf({ timeline }), [
      ["assigned", who, one.id],
      ["unassigned", who, one.id],
      ["assigned", who, two.id],
      ["status_changed", who, "triggered", "acknowledged"],
      ["unassigned", who, two.id],
    ]);
    await on.change(at, iid, { assignee_ids: [one.id] });
    assert.deepEqual((await on.change(at, iid, { assignee_ids: null })).assignees, []);
  });

  test("if nothing is different, nothing is recorded", async () => {
    const long = "2020-01-01T00:00:00.000Z";
    const { iid } = await on.alert(at, { status: 2, ended_at: long, updated_at: long });
    const alert = await on.change(at, iid, { status: "resolved", assignee_ids: [] });
    assert.deepEqual([alert.ended_at, alert.updated_at, alert.timeline], [long, long, []]);
  });

  test("who cannot see the alert is not assigned, and neither is the status changed", async () => {
    const { iid } = await on.alert(at);
    const blocked = await on.member(at, "developer");
    await sql`update users set state = 'blocked' where id = ${blocked.id}`.execute(on.app.services.db.write);
    const stranger = await on.app.makeUser();
    const reporter = await on.member(at, "reporter");
    for (const id of [stranger.id, reporter.id, blocked.id, 2 ** 50]) {
      const { status, body } = await on.put(at, iid, { assignee_ids: [id], status: "acknowledged" });
      const message = { assignee_ids: ["must name someone who can see the alert"] };
      assert.deepEqual([status, body], [400, { message }], String(id));
    }
    const alert = await on.get(at, `/${iid}`);
    assert.deepEqual([alert.status, alert.assignees, alert.timeline], ["triggered", [], []]);
    const admin = await on.app.makeUser({ admin: true });
    assert.equal((await on.change(at, iid, { assignee_ids: [admin.id] })).assignees[0].id, admin.id);
  });

  test("an invalid status, no change at all, and a role that is too low are refused", async () => {
    const { iid } = await on.alert(at);
    const unknown = await on.put(at, iid, { status: "open" });
    assert.deepEqual([unknown.status, unknown.body], [400, { error: "status does not have a valid value" }]);
    const nothing = await on.put(at, iid, { title: "New" });
    const error = "status, assignee_ids are missing, at least one parameter must be provided";
    assert.deepEqual([nothing.status, nothing.body], [400, { error }]);
    const reporter = await on.member(at, "reporter");
    assert.equal((await on.put(at, iid, { status: "resolved" }, reporter)).status, 403);
    assert.equal((await on.put(at, 9_999_999, { status: "resolved" })).status, 404);
  });

  test("it stays resolved while another unresolved alert has its fingerprint", async () => {
    const fingerprint = randomBytes(32);
    const { iid } = await on.alert(at, { fingerprint, status: 2, ended_at: "2026-01-05T00:00:00Z" });
    const open = await on.alert(at, { fingerprint, status: 3 });
    // The same fingerprint in another project is another alert.
    await on.alert(await on.project(), { fingerprint });
    const { status, body } = await on.put(at, iid, { status: "triggered" });
    const message = { status: ["must stay resolved while another unresolved alert has the same fingerprint"] };
    assert.deepEqual([status, body], [400, { message }]);
    assert.deepEqual((await on.get(at, `/${iid}`)).timeline, []);
    await on.change(at, open.iid, { status: "resolved" });
    await on.change(at, iid, { status: "triggered" });
  });

  test("of two people who assign themselves at once, one replaces the other", async () => {
    const { iid } = await on.alert(at);
    const people = [await on.member(at, "developer"), await on.member(at, "developer")];
    const replies = await Promise.all(people.map((user) => on.put(at, iid, { assignee_ids: [user.id] }, user)));
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 200],
    );
    const { assignees, timeline } = await on.get(at, `/${iid}`);
    const [first, taken, last] = changesOf({ timeline });
    assert.equal(assignees.length, 1);
    assert.deepEqual([first?.[0], taken?.[0], last?.[0]], ["assigned", "unassigned", "assigned"]);
    assert.equal(taken?.[2], first?.[2]);
    assert.equal(last?.[2], assignees[0].id);
  });

  test("the timeline shows recoveries, and its newest hundred changes", async () => {
    const { id, iid } = await on.alert(at, { status: 2, ended_at: "2026-01-05T00:00:00Z" });
    await sql`insert into alert_changes (alert_id, action, from_status, to_status)
      select ${id}, 'recovered', 1, 2 from generate_series(1, 101)`.execute(on.app.services.db.write);
    const { timeline } = await on.change(at, iid, { status: "ignored" });
    assert.equal(timeline.length, 100);
    const [newest, recovery] = timeline;
    assert.deepEqual([newest.action, newest.user.id], ["status_changed", at.developer.id]);
    const { id: _, created_at: at_, ...shown } = recovery;
    assert.ok(at_);
    assert.deepEqual(shown, {
      ...{ action: "recovered", user: null, assignee: null },
      ...{ from_status: "acknowledged", to_status: "resolved" },
    });
  });

  test("the alerts of an archived project are read-only", async () => {
    const archived = await on.project({ archived: true });
    const { iid } = await on.alert(archived);
    const { status, body } = await on.put(archived, iid, { status: "resolved" });
    assert.deepEqual([status, body], [403, { message: "403 Forbidden - The project is archived" }]);
    assert.equal((await on.get(archived, `/${iid}`)).status, "triggered");
  });
});
