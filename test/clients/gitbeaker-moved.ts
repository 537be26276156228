// Previous paths with @gitbeaker/rest 43.8: it follows 301 for a read and 308 for every write. After a 301 it would turn
// a POST into a GET and report success, so only 308 keeps a write from being lost.
import { deepEqual, equal, ok } from "node:assert/strict";
import { check, client, crew, host, picture, png, refused, token } from "./gitbeaker-support.ts";

const api = client();
const mate = await crew("beaker-mover");
const group = await api.Groups.create("Beaker Moves", "beaker-moves");
const project = await api.Projects.create({ name: "Boat", namespaceId: group.id });
const old = "beaker-moves/boat";
await api.Projects.edit(project.id, { path: "ship" });

const now = () => api.Projects.show(project.id);

/** The response of the server if the redirect is not followed. */
async function redirectOf(method: string, path: string) {
  const headers = { "private-token": token };
  const answer = await fetch(`${host}/api/v4/${path}`, { method, headers, redirect: "manual" });
  return [answer.status, answer.headers.get("location")];
}

await check("moved project: the server says 301 to reads, 308 to writes, with the id", async () => {
  const byId = `${host}/api/v4/projects/${project.id}`;
  for (const verb of ["GET", "HEAD"]) deepEqual(await redirectOf(verb, "projects/beaker-moves%2Fboat"), [301, byId]);
  for (const verb of ["PUT", "DELETE"]) deepEqual(await redirectOf(verb, "projects/beaker-moves%2Fboat"), [308, byId]);
  deepEqual(await redirectOf("POST", "projects/Beaker-Moves%2FBOAT/star"), [308, `${byId}/star`]);
});

await check("moved project: show follows to where it is", async () => {
  const found = await api.Projects.show(old);
  deepEqual([found.id, found.path_with_namespace], [project.id, "beaker-moves/ship"]);
});

await check("moved project: edit arrives, method and body kept", async () => {
  const edited = await api.Projects.edit(old, {
    description: "By the old address",
    topics: ["one"],
    lfsEnabled: false,
  });
  deepEqual([edited.id, edited.description], [project.id, "By the old address"]);
  const { description, topics, lfs_enabled } = await now();
  deepEqual([description, topics, lfs_enabled], ["By the old address", ["one"], false]);
});

await check("moved project: a file in edit is sent again and arrives whole", async () => {
  const edited = await api.Projects.edit(old, { avatar: picture(9, 9, 9), description: "With a file" });
  deepEqual([edited.id, edited.description], [project.id, "With a file"]);
  const answer = await fetch(String(edited.avatar_url), { headers: { "private-token": token } });
  ok(png(9, 9, 9).equals(Buffer.from(await answer.arrayBuffer())), "the image came back changed");
});

await check("moved project: members are added, changed and removed", async () => {
  const level = async () => (await api.ProjectMembers.show(project.id, mate.id)).access_level;
  await api.ProjectMembers.add(old, 20, { userId: mate.id });
  equal(await level(), 20);
  await api.ProjectMembers.edit(old, mate.id, 40);
  equal(await level(), 40);
  await api.ProjectMembers.remove(old, mate.id);
  await refused(404, level);
});

await check("moved project: archive and unarchive arrive", async () => {
  await api.Projects.archive(old);
  equal((await now()).archived, true);
  await api.Projects.unarchive(old);
  equal((await now()).archived, false);
});

// The client uses only the query of the next link with the old path, so each page is redirected.
await check("moved project: lists are complete, page after page", async () => {
  await api.ProjectMembers.add(project.id, 30, { userId: mate.id });
  const found = await api.ProjectMembers.all(old, { includeInherited: true, perPage: 1 });
  deepEqual(found.map(({ username }) => username).toSorted(), ["beaker-mover", "root"]);
});

await check("moved project: sudo goes along with a write", async () => {
  await api.Projects.star(old, { sudo: "beaker-mover" });
  deepEqual(
    (await api.Projects.allStarrers(project.id)).map(({ user }) => user.username),
    ["beaker-mover"],
  );
});

await check("moved project: who may not see it is led nowhere, who may not write is refused there", async () => {
  await api.ProjectMembers.remove(project.id, mate.id);
  await refused(404, () => mate.api.Projects.show(old), "404 Project Not Found");
  await refused(404, () => mate.api.Projects.edit(old, { name: "x" }), "404 Project Not Found");
  await api.ProjectMembers.add(project.id, 10, { userId: mate.id });
  equal((await mate.api.Projects.show(old)).id, project.id);
  await refused(403, () => mate.api.Projects.edit(old, { name: "x" }), "403 Forbidden");
});

await check("renamed group: it and the project in it are read and written by their old addresses", async () => {
  await api.Groups.edit(group.id, { path: "beaker-moved" });
  equal((await api.Groups.show("beaker-moves")).full_path, "beaker-moved");
  await api.Groups.edit("beaker-moves", { description: "Renamed" });
  equal((await api.Groups.show(group.id)).description, "Renamed");
  for (const address of ["beaker-moves/ship", old]) {
    equal((await api.Projects.show(address)).path_with_namespace, "beaker-moved/ship");
    await api.Projects.edit(address, { description: `Was ${address}` });
    equal((await now()).description, `Was ${address}`);
  }
});

await check("moved group and project: transfers lead on too", async () => {
  const home = await api.Groups.create("Home", "beaker-home");
  await api.Projects.transfer(old, home.id);
  await api.Projects.edit("beaker-moved/ship", { description: "At home" });
  equal((await api.Projects.show(old)).path_with_namespace, "beaker-home/ship");
  await api.Groups.transfer("beaker-moves", { groupId: home.id });
  await api.Groups.edit("beaker-moved", { description: "At home too" });
  equal((await api.Groups.show("beaker-moves")).full_path, "beaker-home/beaker-moved");
  deepEqual([(await now()).description, (await api.Groups.show(group.id)).description], ["At home", "At home too"]);
});

await check("moved project: remove arrives, with its body", async () => {
  deepEqual(await api.Projects.remove(old), { message: "202 Accepted" });
  ok("marked_for_deletion_on" in (await now()) && (await now()).marked_for_deletion_on);
});
