import type { Contract, FixtureContext } from "#test/contract.ts";
import { inProject, line, READ, WRITE } from "#test/matrix/line.ts";
import { insert, insertForIds, personalProjects, sshKey, word } from "#test/matrix/rows.ts";

const DEPLOY_KEY = { child: "deploy key" } as const;
const NEW_DEPLOY_KEY = "title=*&key={ssh_key}";

/** Creates a key for each project. */
async function keysFor({ db, person }: FixtureContext, projects: readonly number[]): Promise<number[]> {
  const owner = await person("owner of deploy keys");
  const ids = await insertForIds(
    db,
    "keys",
    projects.map(() => sshKey(owner, word(), "deploy")),
    "title",
  );
  await insert(
    db,
    "deploy_keys_projects",
    projects.map((project_id, index) => ({ project_id, key_id: ids[index] })),
  );
  return ids;
}

export const contract: Contract = {
  lines: {
    "GET /deploy_keys": line(401, 403, 200, READ),
    "POST /deploy_keys": line(401, 403, 201, WRITE, { send: NEW_DEPLOY_KEY, entity: "Instance" }),
    // A new user has no project in common with anyone.
    "GET /users/:id_or_username/project_deploy_keys": line(401, [200, 403, 404], [200, 403, 404], READ, {
      object: "newcomer",
    }),
    "GET /projects/:id/deploy_keys": inProject("maintainer", 200, READ, { holds: "deploy key" }),
    "GET /projects/:id/deploy_keys/:key_id": inProject("maintainer", 200, READ, DEPLOY_KEY),
    "POST /projects/:id/deploy_keys": inProject("maintainer", 201, WRITE, { send: NEW_DEPLOY_KEY }),
    "PUT /projects/:id/deploy_keys/:key_id": inProject("maintainer", 200, WRITE, { ...DEPLOY_KEY, send: "can_push=1" }),
    "POST /projects/:id/deploy_keys/:key_id/enable": inProject("maintainer", 201, WRITE, {
      ...{ ...DEPLOY_KEY, adminsFind: true },
    }),
    "POST /projects/:id/deploy_keys/:key_id/disable": inProject("maintainer", 201, WRITE, DEPLOY_KEY),
    "DELETE /projects/:id/deploy_keys/:key_id": inProject("maintainer", 204, WRITE, DEPLOY_KEY),
  },
  tables: ["deploy_keys_projects"],
  unrepeatable: { "POST /projects/:id/deploy_keys/:key_id/enable": "the key is enabled already" },
  fixtures: {
    "deploy key": {
      parents: ["project"],
      make: (context, parents) =>
        keysFor(
          context,
          parents.map(({ id }) => id),
        ),
    },
    "deploy key of a personal project": {
      parents: ["user"],
      async make(context, parents) {
        const projects = await personalProjects(context.db, parents);
        return keysFor(context, projects);
      },
    },
  },
};
