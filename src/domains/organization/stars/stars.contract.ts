import type { Contract } from "#test/contract.ts";
import { inProject, READ, WRITE } from "#test/matrix/line.ts";
import { insert } from "#test/matrix/rows.ts";

export const contract: Contract = {
  lines: {
    "POST /projects/:id/star": inProject("viewer", 201, WRITE, { signedIn: true }),
    "POST /projects/:id/unstar": inProject("viewer", 201, WRITE, { signedIn: true, holds: "a star of the caller" }),
    "GET /projects/:id/starrers": inProject("viewer", 200, READ, { holds: "star" }),
  },
  tables: ["stars"],
  fixtures: {
    star: {
      parents: ["project"],
      async make({ db, person }, parents) {
        const users = await Promise.all(parents.map(({ name }) => person(name)));
        await insert(
          db,
          "stars",
          parents.map(({ id }, index) => ({ project_id: id, user_id: users[index] })),
        );
        return users;
      },
    },
    "a star of the caller": {
      parents: ["project"],
      async make({ db }, parents) {
        const once = parents.filter(({ name, acting }) => name === "0" && acting !== undefined);
        await insert(
          db,
          "stars",
          once.map(({ id, acting }) => ({ project_id: id, user_id: acting })),
        );
        return parents.map(({ name }) => name);
      },
    },
  },
};
