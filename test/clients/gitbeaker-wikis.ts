// Wikis, and moves of those of groups between storages, with @gitbeaker/rest 43.8.
import { deepEqual, equal, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { check, client, crew, ids, refused } from "./gitbeaker-support.ts";

const api = client();
const mate = await crew("beaker-pilot");
const project = await api.Projects.create({ name: "Beaker Pages" });
const group = await api.Groups.create("Beaker Wikis", "beaker-wikis");

for (const [kind, { id }, wikis] of [
  ["project", project, api.ProjectWikis],
  ["group", group, api.GroupWikis],
] as const) {
  await check(`wiki of a ${kind}: create, show, edit, all, remove`, async () => {
    const page = await wikis.create(id, "# Welcome", "Home port");
    deepEqual([page.slug, page.title, page.format], ["Home-port", "Home port", "markdown"]);
    equal((await wikis.show(id, "Home-port")).content, "# Welcome");
    equal((await wikis.edit(id, "Home-port", { content: "# Aboard" })).content, "# Aboard");
    await wikis.create(id, "Long", "rope/splices");
    deepEqual(
      (await wikis.all(id, { withContent: true })).map(({ content }) => content),
      ["# Aboard", "Long"],
    );
    await wikis.remove(id, "rope/splices");
    equal((await wikis.all(id)).length, 1);
    await refused(404, () => wikis.show(id, "rope/splices"), "404 Wiki page Not Found");
  });
}

await check("moves of groups: schedule for one, show, all, and all of a storage", async () => {
  const moves = api.GroupRepositoryStorageMoves;
  const groupId = group.id;
  // The client names this parameter after the resource, and its types do not know it.
  const of = { groupId } as object;
  const move = await moves.schedule("default", { ...of, destinationStorageName: "second" });
  const stateOf = async (id: number) => (await moves.show(id)).state as string;
  for (let tries = 0; tries < 400 && /scheduled|started/.test(await stateOf(move.id)); tries++) await pause(50);
  ok(["replicated", "finished"].includes(await stateOf(move.id)));
  deepEqual(ids(await moves.all(of)), [move.id]);
  equal((await moves.show(move.id, of)).id, move.id);
  equal((await api.GroupWikis.show(groupId, "Home-port")).content, "# Aboard");
  deepEqual(await moves.schedule("second", { destinationStorageName: "default" }), { message: "202 Accepted" });
  for (let tries = 0; tries < 400 && (await moves.all(of)).length < 2; tries++) await pause(50);
  equal((await moves.all(of)).length, 2);
  await refused(403, () => mate.api.GroupRepositoryStorageMoves.all());
});
