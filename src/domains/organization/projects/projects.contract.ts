import type { Contract } from "#test/contract.ts";
import { CLOSED, FOUND, inGroup, inProject, line, MADE, NOT_MARKED, PICTURE, READ, WRITE } from "#test/matrix/line.ts";
import { insert, insertForIds, personalProjects, project } from "#test/matrix/rows.ts";

export const contract: Contract = {
  lines: {
    "GET /groups/:id/projects": inGroup("viewer", 200, READ, { holds: "project inside" }),
    "POST /groups/:id/projects/:project_id": inGroup("administrator", 201, WRITE, {
      child: "project",
      answers: CLOSED,
    }),
    "GET /projects": inProject("viewer", 200, READ, { foundBy: "viewers" }),
    "POST /projects": [
      line(401, 201, 201, WRITE, { send: "name=*", entity: "Project" }),
      inGroup("developer", 201, WRITE, { by: "namespace_id", send: "name=*", answers: CLOSED }),
    ],
    "POST /projects/user/:user_id": line(401, 403, MADE, WRITE, { object: "user", send: "name=*", entity: "Project" }),
    "GET /projects/:id": inProject("viewer", 200, READ),
    "PUT /projects/:id": [
      inProject("maintainer", 200, WRITE, { send: "description=*" }),
      inProject("maintainer", 200, WRITE, { requestRole: "owner", send: "visibility={visibility}" }),
    ],
    "DELETE /projects/:id": inProject("owner", 202, WRITE, { answers: { "marked for deletion": 400 } }),
    "POST /projects/:id/restore": inProject("owner", 201, WRITE, { state: "marked for deletion", answers: NOT_MARKED }),
    "POST /projects/:id/archive": inProject("owner", 201, WRITE),
    "POST /projects/:id/unarchive": inProject("owner", 201, WRITE, { state: "archived" }),
    "PUT /projects/:id/transfer": inProject("owner", 200, WRITE, { send: "namespace={namespace}" }),
    "GET /users/:user_id/projects": line(FOUND, FOUND, FOUND, READ, { object: "user" }),
    "GET /users/:user_id/starred_projects": line(FOUND, FOUND, FOUND, READ, { object: "user" }),
    "GET /uploads/-/system/project/avatar/:id/:file": inProject("viewer", 200, READ, { send: PICTURE }),
  },
  tables: ["projects"],
  fixtures: {
    "project inside": {
      parents: ["group"],
      make: ({ db }, parents) =>
        insertForIds(
          db,
          "projects",
          parents.map(({ id }) => project(id, { visibility: "private" })),
        ),
    },
    "personal project": {
      parents: ["user"],
      async make({ db }, parents) {
        const ids = await personalProjects(db, parents);
        await insert(
          db,
          "stars",
          parents.map(({ id }, index) => ({ user_id: id, project_id: ids[index] })),
        );
        return ids;
      },
    },
  },
};
