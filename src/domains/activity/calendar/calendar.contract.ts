import type { Contract } from "#test/contract.ts";
import { line, READ_USER } from "#test/matrix/line.ts";
import { any, FIRST, list } from "#test/plans/request.ts";

const FOUND = [200, 200, 404] as const;

export const contract: Contract = {
  lines: { "GET /users/:id/calendar": line(401, FOUND, FOUND, READ_USER, { object: "user" }) },
  tables: ["contributions"],
  plans: {
    sample: `select author_id as author from contributions group by 1 order by count(*) desc, 1 limit 1`,
    indexes: ({ author }) => ({ contributions_of_author: `/users/${author}/calendar` }),
    requests: ({ author }) => list(`/users/${author}/calendar`, { filters: [any("")], places: FIRST }),
  },
};
