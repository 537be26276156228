import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { accepted, ignoredIn, type IssuesApp, issuesApp } from "#domains/planning/issues/test-support.ts";
import type { TestUser } from "#test/support/app.ts";

interface Created {
  readonly id: number;
  readonly iid: number;
  readonly updated_at: string;
}

describe("merge requests", () => {
  let on: IssuesApp;
  let owner: TestUser;
  let project: { readonly id: number };
  before(async () => {
    on = await issuesApp();
    owner = await on.app.makeUser();
    project = await newProject(owner);
  });
  after(() => on.app.close());

  /** A public project with the branches main, topic and other. */
  async function newProject(by: TestUser, columns: object = {}) {
    const payload = { name: `Ropes ${Math.random()}`, initialize_with_readme: true, visibility: "public", ...columns };
    const { body } = await on.app.post("/projects", { token: by.token, payload });
    for (const branch of ["topic", "other", "third"]) {
      const path = `/projects/${body.id}/repository/branches?branch=${branch}&ref=main`;
      accepted(await on.app.post(path, { token: by.token }), 201);
    }
    return { id: body.id as number };
  }

  const path = (at = project) => `/projects/${at.id}/merge_requests`;
  const send = (payload: object, by: TestUser, at = project) => on.app.post(path(at), { token: by.token, payload });
  const DRAFT = { title: "Add a rope", source_branch: "topic", target_branch: "main" };
  const open = async (payload: object = {}, by = owner, at = project): Promise<Created> =>
    accepted(await send({ ...DRAFT, ...payload }, by, at), 201);
  const change = async (iid: number, payload: object, by = owner, at = project) =>
    accepted(await on.app.put(`${path(at)}/${iid}`, { token: by.token, payload }), 200);
  const titles = async (query: string, by: TestUser | undefined = owner, at = project) =>
    on.titles(`${path(at)}?${query}`, by);

  test("are opened between two branches and read back as they are", async () => {
    const at = await newProject(owner);
    const helper = await on.member({ id: at.id } as never, "developer");
    const { body: branch } = await on.app.get(`/projects/${at.id}/repository/branches/topic`, { token: owner.token });
    const { body: milestone } = await on.app.post(`/projects/${at.id}/milestones`, {
      token: owner.token,
      payload: { title: "May" },
    });
    const people = { assignee_ids: [owner.id], reviewer_ids: [helper.id] };
    const made = await open(
      {
        ...people,
        title: "Draft: Add a rope",
        description: "- [x] one\n- [ ] two",
        labels: "Bug,New",
        milestone_id: milestone.id,
      },
      helper,
      at,
    );
    const read = await on.get(`${path(at)}/${made.iid}`, undefined);
    assert.deepEqual({ ...read, subscribed: true }, made);
    const told = {
      ...{ iid: 1, project_id: at.id, state: "opened", draft: true, work_in_progress: true, sha: branch.commit.id },
      ...{ source_branch: "topic", target_branch: "main", labels: ["Bug", "New"], user_notes_count: 0 },
      ...{ merge_status: "unchecked", detailed_merge_status: "unchecked", merged_at: null, has_conflicts: false },
      ...{ reference: "!1", task_completion_status: { count: 2, completed_count: 1 } },
    };
    assert.deepEqual(Object.fromEntries(Object.keys(told).map((name) => [name, read[name]])), told);
    const names = (users: { username: string }[]) => users.map(({ username }) => username);
    assert.deepEqual([names(read.assignees), names(read.reviewers)], [[owner.username], [helper.username]]);
    assert.deepEqual([read.author.username, read.milestone.title], [helper.username, "May"]);
    assert.match(read.web_url, /\/-\/merge_requests\/1$/);
    assert.deepEqual(await titles("", undefined, at), ["Draft: Add a rope"]);
  });

  test("are refused without branches, between one branch and itself, twice, and by those who may not push", async () => {
    const at = await newProject(owner);
    const guest = await on.member({ id: at.id } as never, "reporter");
    const refused = async (payload: object, by = owner) => (await send({ ...DRAFT, ...payload }, by, at)).status;
    const missing = await send({ ...DRAFT, source_branch: "none", target_branch: "nowhere" }, owner, at);
    assert.deepEqual(
      [missing.status, missing.body],
      [400, { message: { source_branch: ["does not exist"], target_branch: ["does not exist"] } }],
    );
    assert.equal(await refused({ source_branch: "main" }), 422);
    assert.equal(await refused({ target_project_id: 0 }), 201);
    const again = await send(DRAFT, owner, at);
    const taken = "Another open merge request already exists for this source branch: !1";
    assert.deepEqual([again.status, again.body], [409, { message: taken }]);
    assert.equal(await refused({ source_branch: "other", target_project_id: project.id }), 404);
    assert.equal(await refused({ source_branch: "other" }, guest), 403);
    assert.equal(await refused({ source_branch: "other" }, await on.app.makeUser()), 403);
    await change(1, { state_event: "close" }, owner, at);
    assert.equal((await open({}, owner, at)).iid, 2);
    assert.equal(
      (await on.app.put(`${path(at)}/1`, { token: owner.token, payload: { state_event: "reopen" } })).status,
      409,
    );
  });

  test("change with labels, people, state and target, each recorded", async () => {
    const at = await newProject(owner);
    const helper = await on.member({ id: at.id } as never, "developer");
    const { iid, updated_at } = await open({ labels: "Bug" }, owner, at);
    assert.equal((await change(iid, { title: DRAFT.title }, owner, at)).updated_at, updated_at);
    const changed = await change(
      iid,
      {
        add_labels: "New",
        remove_labels: "Bug",
        reviewer_ids: [helper.id],
        assignee_id: helper.id,
        target_branch: "other",
      },
      owner,
      at,
    );
    assert.deepEqual(
      [changed.labels, changed.target_branch, changed.assignee.username, changed.reviewers.length],
      [["New"], "other", helper.username, 1],
    );
    const closed = await change(iid, { state_event: "close" }, owner, at);
    assert.deepEqual(
      [closed.state, closed.closed_by.username, closed.detailed_merge_status],
      ["closed", owner.username, "not_open"],
    );
    await change(iid, { state_event: "reopen" }, owner, at);
    const events = await on.get(`${path(at)}/${iid}/resource_label_events`, helper);
    assert.deepEqual(
      events.map(
        ({ action, resource_type, label }: { action: string; resource_type: string; label: { name: string } }) => [
          action,
          resource_type,
          label.name,
        ],
      ),
      [
        ["add", "MergeRequest", "Bug"],
        ["add", "MergeRequest", "New"],
        ["remove", "MergeRequest", "Bug"],
      ],
    );
    const single = await on.get(`${path(at)}/${iid}/resource_label_events/${events[0].id}`, helper);
    assert.deepEqual(single, events[0]);
    const notes = await on.get(`${path(at)}/${iid}/notes?sort=asc`, helper);
    const said = notes.map(({ body }: { body: string }) => body.replaceAll(/~\d+/g, "~"));
    assert.deepEqual(said, [
      "added ~ label and removed ~ label",
      `assigned to @${helper.username}`,
      `requested review from @${helper.username}`,
      "changed target branch from `main` to `other`",
      "closed",
      "reopened",
    ]);
    assert.equal(notes[0].noteable_type, "MergeRequest");
    const feed = await on.get(`/projects/${at.id}/events?target_type=merge_request`, owner);
    assert.deepEqual(
      feed.map((event: { action_name: string; target_type: string; target_iid: number; target_title: string }) => [
        ...[event.action_name, event.target_type, event.target_iid, event.target_title],
      ]),
      ["opened", "closed", "opened"].map((name) => [name, "MergeRequest", iid, DRAFT.title]),
    );
  });

  test("let their author change the text and state only, once that is no Developer", async () => {
    const at = await newProject(owner);
    const author = await on.member({ id: at.id } as never, "developer");
    const { iid } = await open({}, author, at);
    await on.app.services.db.write.deleteFrom("members").where("user_id", "=", author.id).execute();
    const reply = await on.app.put(`${path(at)}/${iid}`, {
      token: author.token,
      payload: { title: "Add two ropes", labels: "Bug", state_event: "close" },
    });
    assert.deepEqual(
      [accepted(reply, 200).title, reply.body.labels, reply.body.state],
      ["Add two ropes", [], "closed"],
    );
    assert.deepEqual(ignoredIn(reply), ["labels"]);
    const stranger = await on.app.makeUser();
    assert.equal(
      (await on.app.put(`${path(at)}/${iid}`, { token: stranger.token, payload: { title: "No" } })).status,
      403,
    );
  });

  test("are listed by each filter", async () => {
    const at = await newProject(owner);
    const helper = await on.member({ id: at.id } as never, "developer");
    await open({ title: "One anchor", labels: "Bug", reviewer_ids: [helper.id] }, owner, at);
    await open({ title: "Draft: Two", source_branch: "other", assignee_ids: [helper.id] }, helper, at);
    const { iid } = await open({ title: "Three", source_branch: "third", description: "with an anchor" }, owner, at);
    await change(iid, { state_event: "close" }, owner, at);
    const [one, two, three] = ["One anchor", "Draft: Two", "Three"];
    const expected: Record<string, string[]> = {
      "": [three, two, one],
      "state=opened": [two, one],
      "state=closed": [three],
      "state=merged": [],
      "labels=Bug": [one],
      "labels=None": [three, two],
      "not[labels]=Bug": [three, two],
      [`reviewer_id=${helper.id}`]: [one],
      [`reviewer_username=${helper.username}`]: [one],
      "reviewer_id=None": [three, two],
      [`assignee_id=${helper.id}`]: [two],
      "assignee_id=Any": [two],
      [`author_id=${helper.id}`]: [two],
      [`not[author_id]=${helper.id}`]: [three, one],
      "draft=true": [two],
      "wip=no": [three, one],
      "source_branch=other": [two],
      "target_branch=other": [],
      "search=anchor": [three, one],
      "search=anchor&in=title": [one],
      "iids=1,3": [three, one],
      "order_by=title&sort=asc": [two, one, three],
      "scope=created_by_me": [three, one],
      "milestone=None": [three, two, one],
    };
    for (const [query, found] of Object.entries(expected))
      assert.deepEqual(await titles(query, owner, at), found, query);
    assert.deepEqual(await on.titles(`/merge_requests?project_id=${at.id}`, helper), [two]);
    assert.deepEqual(await on.titles("/merge_requests?scope=reviews_for_me", helper), [one]);
    assert.deepEqual(await on.titles("/merge_requests?scope=assigned_to_me", helper), [two]);
    for (const query of ["state=broken", "assignee_id=some", "order_by=weight"])
      assert.equal((await on.app.get(`${path(at)}?${query}`, { token: owner.token })).status, 400, query);
  });

  test("are seen only where their project shows them", async () => {
    const { body: group } = await on.app.post("/groups", {
      token: owner.token,
      payload: { name: "Yard", path: `yard-${Date.now()}`, visibility: "public" },
    });
    const at = await newProject(owner, { namespace_id: group.id });
    const stranger = await on.app.makeUser();
    const guest = await on.member({ id: at.id } as never, "guest");
    const { iid } = await open({ title: "Hidden later" }, owner, at);
    const seen = async (by: TestUser) => ({
      group: await on.titles(`/groups/${group.id}/merge_requests`, by),
      everywhere: (await on.titles("/merge_requests?scope=all&search=Hidden later", by)).length,
      events: (await on.get(`/users/${owner.id}/events?target_type=merge_request&per_page=1`, by)).filter(
        ({ target_title }: { target_title: string }) => target_title === "Hidden later",
      ).length,
      single: (await on.app.get(`${path(at)}/${iid}`, { token: by.token })).status,
    });
    const shown = { group: ["Hidden later"], everywhere: 1, events: 1, single: 200 };
    assert.deepEqual(await seen(stranger), shown);
    const set = (columns: object) =>
      on.app.services.db.write.updateTable("projects").set(columns).where("id", "=", at.id).execute();
    await set({ merge_requests_access_level: "private" });
    const hidden = { group: [], everywhere: 0, events: 0, single: 403 };
    assert.deepEqual([await seen(stranger), await seen(guest)], [hidden, hidden]);
    assert.deepEqual(await seen(owner), shown);
    await set({ merge_requests_access_level: "enabled", visibility: 0 });
    assert.deepEqual([await seen(stranger), await seen(guest)], [{ ...hidden, single: 404 }, hidden]);
    await set({ merge_requests_access_level: "disabled" });
    assert.deepEqual(await seen(owner), hidden);
  });

  test("have comments, discussions, emoji, participants and subscriptions as issues have", async () => {
    const at = await newProject(owner);
    const reader = await on.app.makeUser();
    const { iid } = await open({}, owner, at);
    const one = `${path(at)}/${iid}`;
    const post = async (name: string, payload: object, by: TestUser) =>
      accepted(await on.app.post(`${one}/${name}`, { token: by.token, payload }), 201);
    const note = await post("notes", { body: "Why?" }, reader);
    assert.deepEqual([note.noteable_type, note.noteable_iid], ["MergeRequest", iid]);
    const discussion = await post("discussions", { body: "Because" }, owner);
    await post(`discussions/${discussion.id}/notes`, { body: "I see" }, reader);
    await post("award_emoji", { name: "thumbsup" }, reader);
    await post(`notes/${note.id}/award_emoji`, { name: "tada" }, owner);
    const read = await on.get(one, reader);
    assert.deepEqual([read.user_notes_count, read.upvotes, read.subscribed], [3, 1, true]);
    const people = await on.get(`${one}/participants`, owner);
    assert.deepEqual(
      people.map(({ username }: { username: string }) => username).toSorted(),
      [owner.username, reader.username].toSorted(),
    );
    assert.equal((await post("unsubscribe", {}, reader)).subscribed, false);
    assert.equal((await on.app.post(`${one}/unsubscribe`, { token: reader.token })).status, 304);
    const comments = await on.get(`/projects/${at.id}/events?target_type=note`, reader);
    assert.deepEqual(
      comments.map(({ note: { body } }: { note: { body: string } }) => body),
      ["Why?"],
      "comments in discussions of merge requests are not found as notes",
    );
    const all = await on.get(`/projects/${at.id}/events?action=commented`, reader);
    assert.equal(all.length, 3);
    await on.app.delete(one, { token: owner.token });
    assert.deepEqual(await on.get(`/projects/${at.id}/events?action=commented`, reader), []);
    assert.equal((await on.app.get(one, { token: owner.token })).status, 404);
  });

  test("ask assignees, reviewers and the mentioned for a look, as long as they may see them", async () => {
    const at = await newProject(owner, { visibility: "private" });
    const helpers = await Promise.all([1, 2, 3].map(() => on.member({ id: at.id } as never, "developer")));
    const [assignee, reviewer, mentioned] = helpers as [TestUser, TestUser, TestUser];
    const stranger = await on.app.makeUser();
    const todosOf = async (user: TestUser, query = "type=MergeRequest") =>
      (await on.get(`/todos?${query}`, user)).map(
        ({ action_name, target }: { action_name: string; target: { iid: number } }) => `${action_name} ${target.iid}`,
      );
    const description = `@${mentioned.username} and @${stranger.username}`;
    const { iid } = await open({ assignee_id: assignee.id, reviewer_ids: [reviewer.id], description }, owner, at);
    assert.deepEqual(
      [await todosOf(assignee), await todosOf(reviewer), await todosOf(mentioned), await todosOf(stranger)],
      [[`assigned ${iid}`], [`review_requested ${iid}`], [`mentioned ${iid}`], []],
    );
    assert.deepEqual(await todosOf(reviewer, "type=Issue"), []);
    const [{ project, target_url }] = await on.get("/todos", reviewer);
    assert.deepEqual([project.id, target_url], [at.id, (await on.get(`${path(at)}/${iid}`, owner)).web_url]);

    await change(iid, { reviewer_ids: [] }, owner, at);
    assert.deepEqual([await todosOf(reviewer), await todosOf(assignee)], [[], [`assigned ${iid}`]]);
    const marked = await on.app.post(`${path(at)}/${iid}/todo`, { token: reviewer.token });
    assert.deepEqual(
      [marked.status, marked.body.action_name, marked.body.target_type],
      [201, "marked", "MergeRequest"],
    );
    assert.equal((await on.app.post(`${path(at)}/${iid}/todo`, { token: reviewer.token })).status, 304);

    const payload = { merge_requests_access_level: "disabled" };
    accepted(await on.app.put(`/projects/${at.id}`, { token: owner.token, payload }), 200);
    assert.deepEqual([await todosOf(assignee), await todosOf(reviewer)], [[], []]);
  });
});
