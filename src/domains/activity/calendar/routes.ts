import Type from "typebox";
import { signedIn } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { authorShownTo } from "#domains/activity/authors.ts";
import { Contributions } from "./entity.ts";
import { contributionsOf } from "./queries.ts";

export const calendar = {
  get: endpoint({
    method: "GET",
    path: "/users/:id/calendar",
    summary: "Count the events of a user on each day of the last year",
    access: signedIn({ scopes: ["read_user"] }),
    params: Type.Object({ id: Type.String({ description: "Id or username" }) }),
    returns: Type.Array(Contributions),
    handle: async ({ db, databases, actor, params }) =>
      contributionsOf(db, await authorShownTo(databases, actor, params.id), actor),
  }),
};
