import type { Contract, Parent } from "#test/contract.ts";
import { FOUND, inProject, line, READ, WRITE } from "#test/matrix/line.ts";
import { failedMoves } from "#test/matrix/repositories.ts";
import { personalProjects } from "#test/matrix/rows.ts";

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
    "storage move": {
      parents: ["project"],
      make: (context, parents) => failedMoves(context.db, "project_id", idsOf(parents)),
    },
    "any storage move": {
      parents: ["user"],
      make: async (context, parents) =>
        failedMoves(context.db, "project_id", await personalProjects(context.db, parents)),
    },
  },
};
