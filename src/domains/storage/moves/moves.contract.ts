import { sql } from "kysely";
import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { FOUND, inProject, line, READ, WRITE } from "#test/matrix/line.ts";
import { personalProjects } from "#test/matrix/rows.ts";

/** A move that failed for each project, in the same order. */
async function failedMoves({ db }: FixtureContext, projects: readonly number[]): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    insert into repository_storage_moves
      (repository_id, project_id, state, source_storage, destination_storage, error_message, started_at, finished_at)
    select r.id, r.project_id, 'failed', r.storage, 'second', 'There is no space left', now(), now()
    from unnest(${projects}::bigint[]) with ordinality asked (project_id, turn)
      join repositories r on r.project_id = asked.project_id
    order by turn returning id`.execute(db);
  return rows.map(({ id }) => id);
}

const idsOf = (parents: readonly Parent[]) => parents.map(({ id }) => id);

export const contract: Contract = {
  lines: {
    "GET /project_repository_storage_moves": line(401, 403, 200, READ),
    "GET /project_repository_storage_moves/:repository_storage_id": line(401, 403, FOUND, READ, {
      object: "any storage move",
    }),
    "POST /project_repository_storage_moves": line(401, 403, 202, WRITE, {
      entity: "Instance",
      send: "source_storage_name=second&destination_storage_name=default",
    }),
    "GET /projects/:id/repository_storage_moves": inProject("administrator", 200, READ, { holds: "storage move" }),
    "GET /projects/:id/repository_storage_moves/:repository_storage_id": inProject("administrator", 200, READ, {
      child: "storage move",
    }),
    "POST /projects/:id/repository_storage_moves": inProject("administrator", 201, WRITE, {
      send: "destination_storage_name=second",
    }),
  },
  tables: ["repository_storage_moves"],
  unrepeatable: { "POST /project_repository_storage_moves": "a job schedules the moves" },
  fixtures: {
    "storage move": { parents: ["project"], make: (context, parents) => failedMoves(context, idsOf(parents)) },
    "any storage move": {
      parents: ["user"],
      make: async (context, parents) => failedMoves(context, await personalProjects(context.db, parents)),
    },
  },
};
