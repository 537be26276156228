// Moves of repositories between storages with @gitbeaker/rest 43.8.
import { deepEqual, equal, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { check, client, crew, ids, refused } from "./gitbeaker-support.ts";

const api = client();
const mate = await crew("beaker-quay");
const { id } = await api.Projects.create({ name: "Beaker Quay", initializeWithReadme: true });
const moves = api.ProjectRepositoryStorageMoves;

/** The client's types lack the source and destination of a move, and the project. */
const shown = (move: object) => {
  const { state, source_storage_name, destination_storage_name, project } = move as Record<string, unknown>;
  return { state, source_storage_name, destination_storage_name, project: (project as { id: number } | null)?.id };
};
const between = { source_storage_name: "default", destination_storage_name: "second", project: id };

async function moved(move: { id: number }) {
  for (let tries = 0; tries < 400; tries++) {
    const now = shown(await moves.show(move.id));
    if (now.state !== "scheduled" && now.state !== "started") return now;
    await pause(50);
  }
  throw new Error("the move takes too long");
}

await check("storage moves: schedule for one project, show, and all of it", async () => {
  const move = await moves.schedule("default", { projectId: id, destinationStorageName: "second" });
  deepEqual(shown(move), { ...between, state: "scheduled" });
  const { state, ...rest } = await moved(move);
  ok(state === "replicated" || state === "finished", String(state));
  deepEqual(rest, between);
  deepEqual(ids(await moves.all({ projectId: id })), [move.id]);
  equal((await moves.show(move.id, { projectId: id })).id, move.id);
  equal((await api.Repositories.allRepositoryTrees(id)).length, 1);
});

await check("storage moves: all of a storage, and every page of all moves, newest first", async () => {
  deepEqual(await moves.schedule("second", { destinationStorageName: "default" }), { message: "202 Accepted" });
  for (let tries = 0; tries < 400 && (await moves.all({ projectId: id })).length < 2; tries++) await pause(50);
  const [back] = await moves.all({ projectId: id });
  ok(back);
  equal((await moved(back)).destination_storage_name, "default");
  const all = ids(await moves.all({ perPage: 1 }));
  equal(all[0], Math.max(...all));
  ok(all.includes(back.id));
});

await check("storage moves: refused", async () => {
  const to = (destinationStorageName: string) => moves.schedule("default", { projectId: id, destinationStorageName });
  await refused(400, () => to("nowhere"), "is not included in the list");
  await refused(400, () => moves.schedule("nowhere"), "source_storage_name does not have a valid value");
  await refused(404, () => moves.show(0), "404 Repository storage move Not Found");
  await refused(403, () => mate.api.ProjectRepositoryStorageMoves.all());
});
