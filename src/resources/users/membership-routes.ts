import Type from "typebox";
import { administrator, signedIn } from "#access/access.ts";
import { isAdministrator } from "#access/actor.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { forbidden } from "#lib/refusal.ts";
import { AssociationsCount, UserMembership } from "./entity.ts";
import { associationsOf, membershipsOf } from "./memberships.ts";
import { namedUser } from "./named.ts";
import { UserId } from "./params.ts";

const scopes = ["read_user"] as const;

/** What users belong to. */
export const userMemberships = {
  memberships: endpoint({
    method: "GET",
    path: "/users/:id/memberships",
    summary: "List the groups and projects that a user is a member of",
    access: administrator({ scopes }),
    params: Type.Object({ ...UserId.properties, type: Type.Optional(Type.Enum(["Project", "Namespace"])) }),
    returns: pageOf(UserMembership, { id: "m.id" }),
    async handle({ db, databases, params, page }) {
      const { id } = await namedUser(databases, params.id);
      return page(membershipsOf(db, id, params.type), ({ id: _, ...membership }) => membership);
    },
  }),

  associationsCount: endpoint({
    method: "GET",
    path: "/users/:id/associations_count",
    summary: "Count what a user has to do with",
    access: signedIn({ scopes }),
    params: UserId,
    returns: AssociationsCount,
    async handle({ db, databases, actor, params }) {
      if (!isAdministrator(actor) && params.id !== actor.user.id) throw forbidden();
      const { id } = await namedUser(databases, params.id);
      return associationsOf(db, id);
    },
  }),
};
