import { sql } from "kysely";
import type { Contract } from "#test/contract.ts";
import { FOUND, line, READ_USER, WRITE } from "#test/matrix/line.ts";
import { insert } from "#test/matrix/rows.ts";

export const contract: Contract = {
  lines: {
    "GET /users/:id/followers": line(401, FOUND, FOUND, READ_USER, { object: "user" }),
    "GET /users/:id/following": line(401, FOUND, FOUND, READ_USER, { object: "user" }),
    "POST /users/:id/follow": line(401, [400, 201, 404], [400, 201, 404], WRITE, {
      object: "newcomer",
      resetsAccounts: true,
    }),
    "POST /users/:id/unfollow": line(401, [400, 201, 404], [400, 201, 404], WRITE, {
      object: "newcomer",
      has: "follower",
      resetsAccounts: true,
    }),
  },
  tables: ["follows"],
  fixtures: {
    // The caller follows the user.
    follower: {
      parents: ["user"],
      async make({ db }, parents) {
        for (const { id, acting = 0 } of parents) {
          if (acting === 0 || acting === id) continue;
          await sql`insert into follows (follower_id, followed_id)
            values (${acting}, ${id}) on conflict do nothing`.execute(db);
        }
        return parents.map(({ name }) => name);
      },
    },
    follow: {
      parents: ["user"],
      async make({ db, person }, parents) {
        const others = await Promise.all(parents.map(({ name }) => person(name)));
        const pairs = parents.map(({ id }, index) => [id, others[index]] as const);
        await insert(
          db,
          "follows",
          [...pairs, ...pairs.map(([one, other]) => [other, one] as const)].map(([follower_id, followed_id]) => ({
            follower_id,
            followed_id,
          })),
        );
        return parents.map(({ name }) => name);
      },
    },
  },
  resetAccounts: ["update users set following_count = 0 where following_count <> 0"],
};
