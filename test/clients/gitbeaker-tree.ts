// Groups, projects, members and the endpoints for administrators with @gitbeaker/rest 43.8.
import { deepEqual, equal, ok } from "node:assert/strict";
import { Gitlab } from "@gitbeaker/rest";
import { until } from "#test/support/until.ts";
import { check, client, crew, host, ids, perPage, picture, png, refused } from "./gitbeaker-support.ts";

const nowhere = 999_999_999;
const projects = 7;
const api = client();
const anonymous = new Gitlab({ host, token: "" });
const mate = await crew("beaker-mate");
const hand = await crew("beaker-hand");
const fleet: number[] = [];
let top = 0;
let below = 0;
let deepest = 0;
const first = () => fleet[0]!;

/** The client's types have fewer fields and narrower ids than its calls accept. */
type Loose = Record<string, unknown>;
const loose = (value: unknown) => value as Loose & { id: number };
const byId = (rows: number[]) => rows.toSorted((a, b) => a - b);
const fetched = async (address: unknown) => Buffer.from(await (await fetch(String(address))).arrayBuffer());

await check("groups: create at the top and below, with an avatar as multipart", async () => {
  const options = { visibility: "public", description: "Ships", lfsEnabled: false, avatar: picture(0, 99, 0) } as const;
  const group = loose(await api.Groups.create("Beaker Fleet", "Beaker-Fleet", options));
  top = group.id;
  deepEqual([group["full_path"], group["visibility"], group["lfs_enabled"]], ["Beaker-Fleet", "public", false]);
  ok(png(0, 99, 0).equals(await fetched(group["avatar_url"])), "the image came back changed");
  const child = loose(await api.Groups.create("North", "north", { parentId: top, visibility: "public" }));
  below = child.id;
  deepEqual([child["full_path"], child["full_name"]], ["Beaker-Fleet/north", "Beaker Fleet / North"]);
});

await check("groups: what cannot be is refused, and can be read", async () => {
  await refused(400, () => api.Groups.create("x", "beaker-fleet"), "has already been taken");
  await refused(404, () => api.Groups.create("x", "x", { parentId: nowhere }), "404 Group Not Found");
  await refused(403, () => mate.api.Groups.create("x", "x", { parentId: top }), "403 Forbidden");
});

await check("groups: show by id and by full path in any case", async () => {
  for (const name of [below, "Beaker-Fleet/north", "beaker-fleet/NORTH"])
    equal((await api.Groups.show(name)).id, below);
  equal("projects" in (await api.Groups.show(below, { withProjects: false })), false);
  await refused(404, () => api.Groups.show("beaker-fleet/nowhere"), "404 Group Not Found");
});

await check("groups: all and search with their filters", async () => {
  deepEqual(ids(await api.Groups.search("beaker fleet")), [top]);
  const owned = ids(await api.Groups.all({ owned: true }));
  ok(owned.includes(top) && owned.includes(below));
  equal(ids(await api.Groups.all({ skipGroups: [top] })).includes(top), false);
  deepEqual(await mate.api.Groups.all({ minAccessLevel: 10 }), []);
  equal(ids(await mate.api.Groups.all({ allAvailable: true })).includes(top), true);
  equal(ids(await anonymous.Groups.all()).includes(top), true);
});

await check("groups: allSubgroups and allDescendantGroups", async () => {
  deepest = (await api.Groups.create("Deep", "deep", { parentId: below })).id;
  deepEqual(ids(await api.Groups.allSubgroups(top)), [below]);
  deepEqual(byId(ids(await api.Groups.allDescendantGroups("beaker-fleet", {}))), byId([below, deepest]));
});

// With an avatar the client sends POST to the group, which the API does not have: it must be refused, not ignored.
await check("groups: edit changes what is named; with an avatar it asks for another verb and is told so", async () => {
  const edited = loose(await api.Groups.edit(below, { description: "Up there", projectCreationLevel: "maintainer" }));
  deepEqual([edited["description"], edited["project_creation_level"]], ["Up there", "maintainer"]);
  await refused(
    405,
    () => api.Groups.edit(below, { avatar: picture(1, 2, 3), description: "Lost" }),
    "405 Not Allowed",
  );
  equal((await api.Groups.show(below)).description, "Up there");
  equal(loose(await api.Groups.removeAvatar(top))["avatar_url"], null);
  await refused(
    400,
    () => api.Groups.edit(below, { visibility: "loud" as "public" }),
    "visibility does not have a valid",
  );
});

await check("projects: create in a group, in one's own place and for a user", async () => {
  for (let number = 0; number < projects; number += 1) {
    const options = { visibility: "public" as const, topics: ["hull", `number-${number}`], wikiEnabled: false };
    const made = loose(await api.Projects.create({ name: `Beaker Hull ${number}`, namespaceId: below, ...options }));
    equal(made["path_with_namespace"], `Beaker-Fleet/north/beaker-hull-${number}`);
    deepEqual([made["topics"], made["tag_list"]], [options.topics, options.topics]);
    equal(made["wiki_enabled"], false);
    fleet.push(made.id);
  }
  equal((await mate.api.Projects.create({ name: "Own" })).path_with_namespace, "beaker-mate/own");
  equal((await api.Projects.create({ userId: mate.id, name: "Given" })).path_with_namespace, "beaker-mate/given");
  deepEqual((await api.Projects.all({ userId: "beaker-mate" })).map(({ path }) => path).toSorted(), ["given", "own"]);
});

await check(
  "projects: create with an avatar is multipart with camel case names, and lands where it is sent",
  async () => {
    const given = { name: "Pictured", namespaceId: below, lfsEnabled: false, avatar: picture(0, 0, 99) };
    const made = loose(await api.Projects.create(given));
    deepEqual([made["path_with_namespace"], made["lfs_enabled"]], ["Beaker-Fleet/north/pictured", false]);
    const edited = loose(await api.Projects.edit(made.id, { defaultBranch: "trunk", avatar: picture(9, 0, 0) }));
    equal(edited["default_branch"], "trunk");
    const raised = loose(await api.Projects.edit(made.id, { visibility: "public" }));
    ok(png(9, 0, 0).equals(await fetched(raised["avatar_url"])), "the image came back changed");
    equal(loose(await api.Projects.uploadAvatar(made.id, picture(0, 9, 0)))["name"], "Pictured");
    equal(loose(await api.Projects.removeAvatar(made.id))["avatar_url"], null);
  },
);

await check("projects: what cannot be is refused, and can be read", async () => {
  const taken = { name: "Beaker Hull 0", namespaceId: below };
  await refused(400, () => api.Projects.create(taken), "has already been taken");
  await refused(403, () => mate.api.Projects.create({ ...taken, name: "x" }), "403 Forbidden");
  await refused(404, () => api.Projects.create({ ...taken, namespaceId: nowhere }), "404 Namespace Not Found");
});

await check("projects: show by id and by full path in any case, and not at all if hidden", async () => {
  for (const name of [first(), "Beaker-Fleet/north/beaker-hull-0", "BEAKER-FLEET/north/Beaker-Hull-0"]) {
    equal((await api.Projects.show(name)).id, first());
  }
  equal((await anonymous.Projects.show(first())).id, first());
  for (const name of ["beaker-mate/own", "beaker-mate/nothing"]) {
    await refused(404, () => anonymous.Projects.show(name), "404 Project Not Found");
  }
});

await check("projects: all and search with every kind of filter", async () => {
  deepEqual(byId(ids(await api.Projects.search("beaker hull"))), fleet);
  deepEqual(ids(await api.Projects.all({ search: "beaker hull", topic: "hull,number-3" })), [fleet[3]]);
  const later = { search: "beaker hull", idAfter: fleet[4]!, orderBy: "id", sort: "asc" } as const;
  deepEqual(ids(await api.Projects.all(later)), fleet.slice(5));
  deepEqual((await mate.api.Projects.all({ membership: true })).map(({ path }) => path).toSorted(), ["given", "own"]);
  equal((await mate.api.Projects.all({ owned: true, visibility: "private" })).length, 2);
  equal((await api.Projects.all({ search: "beaker hull", repositoryStorage: "elsewhere" })).length, 0);
  const [simple] = await api.Projects.all({ search: "beaker hull 1", simple: true });
  equal("visibility" in simple!, false);
  equal((await api.Groups.allProjects("beaker-fleet", { includeSubgroups: true })).length, projects + 1);
  await refused(
    400,
    () => api.Projects.all({ orderBy: "length" as "id", sort: "asc" }),
    "order_by does not have a valid value",
  );
});

await check("projects: edit changes what is named", async () => {
  const edited = loose(
    await api.Projects.edit(first(), { description: "Goes first", topics: ["first"], lfsEnabled: false }),
  );
  deepEqual([edited["description"], edited["topics"], edited["lfs_enabled"]], ["Goes first", ["first"], false]);
  await refused(403, () => mate.api.Projects.edit(first(), { name: "x" }), "403 Forbidden");
});

await check("projects: archive and unarchive", async () => {
  equal((await api.Projects.archive(first())).archived, true);
  deepEqual(ids(await api.Projects.all({ search: "beaker hull", archived: true })), [first()]);
  equal((await api.Projects.unarchive(first())).archived, false);
});

await check("projects: star and unstar, each of which is 304 the second time, and allStarrers", async () => {
  equal((await mate.api.Projects.star(first())).star_count, 1);
  const [starrer] = await api.Projects.allStarrers(first());
  equal((loose(starrer)["user"] as { username: string }).username, "beaker-mate");
  deepEqual(ids(await api.Users.allStarredProjects(mate.id)), [first()]);
  await refused(304, () => mate.api.Projects.star(first()));
  equal((await mate.api.Projects.unstar(first())).star_count, 0);
  await refused(304, () => mate.api.Projects.unstar(first()));
});

for (const [kind, members, place] of [
  ["project", api.ProjectMembers, () => fleet[1]!],
  ["group", api.GroupMembers, () => below],
] as const) {
  await check(`members of a ${kind}: add, all, show, edit and remove`, async () => {
    const added = loose(await members.add(place(), 30, { userId: mate.id, expiresAt: "2099-01-31" }));
    deepEqual([added["username"], added["access_level"], added["expires_at"]], ["beaker-mate", 30, "2099-01-31"]);
    await refused(409, () => members.add(place(), 10, { userId: mate.id }), "Member already exists");
    deepEqual(ids(await members.all(place(), { query: "beaker-mate" })), [mate.id]);
    deepEqual(ids(await members.all(place(), { userIds: [mate.id, hand.id] })), [mate.id]);
    equal((await members.edit(place(), mate.id, 40)).access_level, 40);
    const shown = await members.show(place(), mate.id);
    deepEqual([shown.access_level, shown.expires_at], [40, "2099-01-31"]);
    await members.add(place(), 10, { username: "beaker-hand" });
    await members.remove(place(), hand.id);
    await refused(404, () => members.show(place(), hand.id), "404 Not found");
    await refused(404, () => members.remove(place(), nowhere));
  });
}

await check("members: those from above are there with includeInherited", async () => {
  equal(ids(await api.ProjectMembers.all(fleet[2]!)).includes(mate.id), false);
  equal(ids(await api.ProjectMembers.all(fleet[2]!, { includeInherited: true })).includes(mate.id), true);
  equal((await api.ProjectMembers.show(fleet[2]!, mate.id, { includeInherited: true })).access_level, 40);
  equal((await api.GroupMembers.show("beaker-fleet/north", 1, { includeInherited: true })).access_level, 50);
  ok((await api.Projects.allUsers(fleet[2]!)).some(({ username }) => username === "beaker-mate"));
  deepEqual(ids(await api.Projects.allGroups(fleet[2]!)), [top, below]);
});

await check("members: a member does what the level allows, and the last Owner stays", async () => {
  await mate.api.Projects.edit(fleet[2]!, { description: "Written by a Maintainer" });
  await refused(403, () => mate.api.Projects.edit(fleet[2]!, { visibility: "private" }), "403 Forbidden");
  await refused(403, () => api.GroupMembers.remove(top, 1), "last");
});

await check("share and unshare of a project and a group", async () => {
  const guests = (await api.Groups.create("Guests", "beaker-guests")).id;
  await api.GroupMembers.add(guests, 50, { userId: hand.id });
  await api.Projects.share(fleet[3]!, guests, 20, { expiresAt: "2099-01-31" });
  const [share] = loose(await api.Projects.show(fleet[3]!))["shared_with_groups"] as Loose[];
  deepEqual([share!["group_id"], share!["group_access_level"], share!["expires_at"]], [guests, 20, "2099-01-31"]);
  equal((await api.ProjectMembers.show(fleet[3]!, hand.id, { includeInherited: true })).access_level, 20);
  await refused(409, () => api.Projects.share(fleet[3]!, guests, 10));
  await api.Projects.unshare(fleet[3]!, guests);
  await refused(404, () => api.ProjectMembers.show(fleet[3]!, hand.id, { includeInherited: true }));
  const shared = loose(await api.Groups.share(below, guests, 30, {}));
  equal((shared["shared_with_groups"] as Loose[])[0]!["group_access_level"], 30);
  await api.Groups.unshare(below, guests, {});
  await refused(404, () => api.Groups.unshare(below, guests, {}));
});

await check("transfer of a project and a group", async () => {
  const where = async () => (await api.Projects.show(fleet[4]!)).path_with_namespace;
  await api.Projects.transfer(fleet[4]!, top);
  equal(await where(), "Beaker-Fleet/beaker-hull-4");
  await api.Projects.transfer(fleet[4]!, "beaker-fleet/north");
  equal(await where(), "Beaker-Fleet/north/beaker-hull-4");
  await api.Groups.transferProject(top, fleet[4]!);
  equal(await where(), "Beaker-Fleet/beaker-hull-4");
  await refused(404, () => api.Projects.transfer(fleet[4]!, nowhere), "404 Namespace Not Found");
  await api.Groups.transfer(deepest, { groupId: top });
  equal((await api.Groups.show(deepest)).full_path, "Beaker-Fleet/deep");
  await api.Groups.edit(deepest, { path: "beaker-deep" });
  await api.Groups.transfer(deepest);
  equal((await api.Groups.show("beaker-deep")).id, deepest);
});

await check("remove marks for deletion, restore takes it back", async () => {
  const marked = async () => loose(await api.Projects.show(fleet[5]!))["marked_for_deletion_on"];
  deepEqual(await api.Projects.remove(fleet[5]!), { message: "202 Accepted" });
  ok(await marked());
  await refused(400, () => api.Projects.remove(fleet[5]!), "already been marked for deletion");
  await api.Projects.restore(fleet[5]!);
  equal(await marked(), null);
  await api.Groups.remove(deepest);
  equal(loose(await api.Groups.restore(deepest))["marked_for_deletion_on"], null);
  await refused(403, () => mate.api.Projects.remove(fleet[5]!), "403 Forbidden");
});

await check("namespaces: all, show by id and path, and exists", async () => {
  deepEqual(ids(await api.Namespaces.all({ search: "beaker-fleet" })), [top]);
  for (const name of [below, "beaker-fleet/NORTH"]) {
    equal((await api.Namespaces.show(name)).full_path, "Beaker-Fleet/north");
  }
  await refused(404, () => mate.api.Namespaces.show("root"), "404 Namespace Not Found");
  deepEqual(await api.Namespaces.exists("beaker-fleet"), { exists: true, suggests: ["beaker-fleet1"] });
  equal((await api.Namespaces.exists("north", { parentId: String(top) })).exists, true);
  equal((await api.Namespaces.exists("north-of-nothing")).exists, false);
});

await check("list by offset: all() follows every page, and one page has its totals", async () => {
  const ordered = { search: "beaker hull", orderBy: "id", sort: "asc", perPage: 3 } as const;
  deepEqual(ids(await api.Projects.all(ordered)), fleet);
  const page = await api.Projects.all({ ...ordered, pagination: "offset", page: 2, showExpanded: true });
  deepEqual(page.paginationInfo, { total: projects, next: 3, current: 2, previous: 1, perPage: 3, totalPages: 3 });
  equal((await api.GroupMembers.all(below, { perPage: 1 })).length, 2);
});

await check("list by keyset: all() sees every row once, in projects, groups and audit events", async () => {
  const keyset = { pagination: "keyset", orderBy: "id", sort: "desc", perPage } as const;
  deepEqual(ids(await api.Projects.all(keyset)), byId(ids(await api.Projects.all({ perPage: 100 }))).toReversed());
  deepEqual(ids(await api.Groups.all({ ...keyset, sort: "asc" })), byId(ids(await api.Groups.all({ perPage: 100 }))));
  const events = ids(await api.AuditEvents.all({ perPage: 100 }));
  deepEqual(ids(await api.AuditEvents.all({ pagination: "keyset", perPage: 50 })), events);
});

await check("sidekiq: the four metrics", async () => {
  const { queues } = await api.SidekiqMetrics.queueMetrics();
  deepEqual([loose(queues)["default"]], [{ backlog: 0, latency: 0 }]);
  // The worker of a server that has just started registers a moment later.
  const process = await until("a worker", async () => (await api.SidekiqMetrics.processMetrics()).processes?.[0]);
  ok(process?.queues?.includes("default") && process.concurrency);
  const { jobs } = await api.SidekiqMetrics.jobStats();
  deepEqual([jobs.failed, loose(jobs)["dead"]], [0, 0]);
  deepEqual(Object.keys(await api.SidekiqMetrics.compoundMetrics()).toSorted(), ["jobs", "processes", "queues"]);
  await refused(403, () => mate.api.SidekiqMetrics.jobStats(), "403 Forbidden");
});

await check("settings: show and edit", async () => {
  const before = loose(await api.ApplicationSettings.show());
  const edited = loose(
    await api.ApplicationSettings.edit({ defaultProjectsLimit: 79, restrictedVisibilityLevels: ["internal"] }),
  );
  deepEqual([edited["default_projects_limit"], edited["restricted_visibility_levels"]], [79, ["internal"]]);
  const limit = before["default_projects_limit"] as number;
  await api.ApplicationSettings.edit({ defaultProjectsLimit: limit, restrictedVisibilityLevels: [] });
  deepEqual(loose(await api.ApplicationSettings.show())["restricted_visibility_levels"], []);
  await refused(403, () => mate.api.ApplicationSettings.show(), "403 Forbidden");
});

await check("audit events: of the instance, a group and a project, each also by its id", async () => {
  const events = (await api.AuditEvents.all({ projectId: fleet[2]! })).map(loose);
  deepEqual(
    events.map((event) => event["event_name"]),
    ["project_updated", "project_created"],
  );
  equal(events[0]!["author_id"], mate.id);
  equal((await api.AuditEvents.show(events[0]!.id)).id, events[0]!.id);
  equal((await api.AuditEvents.show(events[1]!.id, { projectId: fleet[2]! })).id, events[1]!.id);
  const [ofGroup] = await api.AuditEvents.all({ groupId: below });
  equal((await api.AuditEvents.show(ofGroup!.id, { groupId: below })).entity_id, below);
  await refused(404, () => api.AuditEvents.show(events[0]!.id, { groupId: top }));
  await refused(403, () => mate.api.AuditEvents.all(), "403 Forbidden");
});
