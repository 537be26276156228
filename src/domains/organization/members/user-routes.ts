import Type from "typebox";
import { administrator, signedIn } from "#access/access.ts";
import { isAdministrator } from "#access/principal.ts";
import { needsAdministrator } from "#access/roles.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { AssociationsCount, UserMembership } from "./entity.ts";
import { associationsOf, membershipsOf } from "./memberships.ts";
import { userById } from "#domains/identity/users/named.ts";
import { UserId } from "#domains/identity/users/params.ts";

const scopes = ["read_user"] as const;

/** The groups and projects that a user is a member of. */
export const userMemberships = {
  memberships: endpoint({
    method: "GET",
    path: "/users/:id/memberships",
    summary: "List the groups and projects that a user is a member of",
    access: administrator({ scopes }),
    params: Type.Object({ ...UserId.properties, type: Type.Optional(Type.Enum(["Project", "Namespace"])) }),
    returns: pageOf(UserMembership, { id: "m.id" }),
    async handle({ db, databases, params, page }) {
      const { id } = await userById(databases, params.id);
      return page(membershipsOf(db, id, params.type), ({ id: _, ...membership }) => membership);
    },
  }),

  associationsCount: endpoint({
    method: "GET",
    path: "/users/:id/associations_count",
    summary: "Count the groups, projects, issues and merge requests of a user",
    access: signedIn({ scopes }),
    params: UserId,
    returns: AssociationsCount,
    async handle({ db, databases, actor, params }) {
      if (!isAdministrator(actor) && params.id !== actor.user.id) throw needsAdministrator();
      const { id } = await userById(databases, params.id);
      return associationsOf(db, id);
    },
  }),
};
