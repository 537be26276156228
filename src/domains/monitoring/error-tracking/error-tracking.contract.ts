import type { Contract } from "#test/contract.ts";
import { inProject, READ, WRITE } from "#test/matrix/line.ts";
import { insertForIds, word } from "#test/matrix/rows.ts";
import { BY_OFFSET, FIRST, list } from "#test/plans/request.ts";

const SETTINGS = { holds: "error tracking settings" } as const;
const KEY = { child: "error tracking client key" } as const;

export const contract: Contract = {
  lines: {
    "GET /projects/:id/error_tracking/settings": inProject("maintainer", 200, READ, SETTINGS),
    "PUT /projects/:id/error_tracking/settings": inProject("maintainer", 200, WRITE, {
      send: "active=true&integrated=true",
    }),
    "PATCH /projects/:id/error_tracking/settings": inProject("maintainer", 200, WRITE, {
      ...SETTINGS,
      send: "active=false",
    }),
    "GET /projects/:id/error_tracking/client_keys": inProject("maintainer", 200, READ, { holds: KEY.child }),
    "POST /projects/:id/error_tracking/client_keys": inProject("maintainer", 201, WRITE),
    "DELETE /projects/:id/error_tracking/client_keys/:key_id": inProject("maintainer", 200, WRITE, KEY),
    "DELETE /projects/:id/error_tracking/client_keys": inProject("maintainer", 200, WRITE, {
      ...KEY,
      childBy: "key_id",
    }),
  },
  tables: ["error_tracking_settings", "error_tracking_client_keys"],
  differing: ["public_key"],
  plans: {
    sample: `select project_id as project from error_tracking_client_keys
      group by project_id order by count(*) desc, project_id limit 1`,
    requests: ({ project }) => [
      ...list(`/projects/${project}/error_tracking/client_keys`, { places: BY_OFFSET }),
      ...list(`/projects/${project}/error_tracking/settings`, { places: FIRST }),
    ],
    indexes: ({ project }) => ({
      error_tracking_client_keys_of_project: `/projects/${project}/error_tracking/client_keys`,
    }),
  },
  fixtures: {
    "error tracking settings": {
      parents: ["project"],
      async make({ db }, parents) {
        await db
          .insertInto("error_tracking_settings")
          .values(parents.map(({ id }) => ({ project_id: id, active: true, integrated: true })))
          // A project has them once, whoever wants three of each thing.
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        return parents.map(({ id }) => id);
      },
    },
    "error tracking client key": {
      parents: ["project"],
      make: ({ db }, parents) =>
        insertForIds(
          db,
          "error_tracking_client_keys",
          parents.map(({ id }) => ({
            ...{ project_id: id, active: true, public_key: `${word()}${word()}` },
            created_at: new Date().toISOString(),
          })),
          "public_key",
        ),
    },
  },
};
