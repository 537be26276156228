// Links and label events of issues and epics with @gitbeaker/rest 43.8, which sends some parameters in the query.
import { deepEqual, equal } from "node:assert/strict";
import { check, client, host, ids, refused, token } from "./gitbeaker-support.ts";

const api = client();
const { id: group } = await api.Groups.create("Beaker Knots", "beaker-knots");
const { id: project } = await api.Projects.create({ name: "Beaker Rope", namespaceId: group });
const first = await api.Issues.create(project, "Splice", { labels: "bug" });
const second = await api.Issues.create(project, "Whip");

await check("links of issues: create, all and remove", async () => {
  const made = await api.IssueLinks.create(project, first.iid, project, second.iid, { linkType: "is_blocked_by" });
  deepEqual([made.source_issue.id, made.target_issue.id, made.link_type], [first.id, second.id, "is_blocked_by"]);
  const found = await api.IssueLinks.all(project, second.iid);
  deepEqual([ids(found), found[0]?.link_type], [[first.id], "blocks"]);
  await refused(409, () => api.IssueLinks.create(project, second.iid, project, first.iid), "Issue(s) already assigned");
  const link = found[0]?.["issue_link_id"] as number;
  // The type of the link comes in the body of a DELETE, and means nothing.
  equal((await api.IssueLinks.remove(project, first.iid, link, { linkType: "relates_to" })).source_issue.id, first.id);
  deepEqual(await api.IssueLinks.all(project, first.iid), []);
});

await check("links of issues: a null for the project of the target is the project in the path", async () => {
  const reply = await fetch(`${host}/api/v4/projects/${project}/issues/${first.iid}/links`, {
    method: "POST",
    headers: { "private-token": token, "content-type": "application/json" },
    body: JSON.stringify({ target_project_id: null, target_issue_iid: second.iid }),
  });
  equal(reply.status, 201);
});

await check("links of epics: create with its parameters in the query, all and remove", async () => {
  const [one, other] = [await api.Epics.create(group, "Voyage"), await api.Epics.create(group, "Return")];
  const made = await api.LinkedEpics.create(group, one.iid, other.iid, group, { linkType: "blocks" });
  deepEqual([made.source_epic.id, made.target_epic.id, made.link_type], [one.id, other.id, "blocks"]);
  const found = await api.LinkedEpics.all(group, other.iid);
  deepEqual([ids(found), found[0]?.link_type], [[one.id], "is_blocked_by"]);
  await refused(409, () => api.LinkedEpics.create(group, one.iid, other.iid, group), "Epic(s) already assigned");
  equal((await api.LinkedEpics.remove(group, one.iid, made.id as number)).id, made.id);
  deepEqual(await api.LinkedEpics.all(group, one.iid), []);
});

await check("label events: all and show of an issue and of an epic", async () => {
  await api.Issues.edit(project, first.iid, { labels: "urgent" });
  const events = await api.IssueLabelEvents.all(project, first.iid);
  deepEqual(
    events.map(({ action, label }) => [action, label.name]),
    [
      ["add", "bug"],
      ["add", "urgent"],
      ["remove", "bug"],
    ],
  );
  equal((await api.IssueLabelEvents.show(project, first.iid, events[0]!.id)).resource_id, first.id);
  const epic = await api.Epics.create(group, "Far", { labels: "far" });
  const [event] = await api.EpicLabelEvents.all(group, epic.id);
  deepEqual([event?.resource_type, event?.label.name], ["Epic", "far"]);
  equal((await api.EpicLabelEvents.show(group, epic.id, event!.id)).action, "add");
});
