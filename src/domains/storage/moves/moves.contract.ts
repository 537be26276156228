import { sql } from "kysely";
import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { FOUND, line, MADE, READ, WRITE } from "#test/matrix/line.ts";
import { personalProjects } from "#test/matrix/rows.ts";

/** A project of each user whose repository failed to move once: the ids of the project and of the move. */
async function movedProjects({ db }: FixtureContext, parents: readonly Parent[]): Promise<[number, number][]> {
  const ids = await personalProjects(db, parents);
  const { rows: moves } = await sql<{ id: number; project_id: number }>`
    insert into repository_storage_moves
      (repository_id, project_id, state, source_storage, destination_storage, error_message, started_at, finished_at)
    select id, project_id, 'failed', storage, 'second', 'There is no space left', now(), now()
    from repositories where project_id = any(${ids}::bigint[])
    returning id, project_id`.execute(db);
  const moveOf = new Map(moves.map(({ id, project_id }) => [project_id, id]));
  return ids.map((id) => [id, moveOf.get(id) ?? 0]);
}

export const contract: Contract = {
  lines: {
    "GET /project_repository_storage_moves": line(401, 403, 200, READ),
    "GET /project_repository_storage_moves/:repository_storage_id": line(401, 403, FOUND, READ, {
      object: "storage move",
    }),
    "POST /project_repository_storage_moves": line(401, 403, 202, WRITE, {
      send: "source_storage_name=second&destination_storage_name=default",
    }),
    "GET /projects/:id/repository_storage_moves": line(401, 403, FOUND, READ, { object: "moved project" }),
    "GET /projects/:id/repository_storage_moves/:repository_storage_id": line(401, 403, FOUND, READ, {
      object: "moved project",
    }),
    "POST /projects/:id/repository_storage_moves": line(401, 403, MADE, WRITE, {
      object: "moved project",
      send: "destination_storage_name=second",
    }),
  },
  tables: ["repository_storage_moves"],
  fixtures: {
    "moved project": { parents: ["user"], make: movedProjects },
    "storage move": {
      parents: ["user"],
      make: async (context, parents) => (await movedProjects(context, parents)).map(([, move]) => move),
    },
  },
};
