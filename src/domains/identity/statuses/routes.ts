import Type from "typebox";
import { anyone, signedIn } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { canSeeProfile, refuseHiddenUser } from "#domains/identity/users/access.ts";
import { targetOf, userByIdOrName } from "#domains/identity/users/named.ts";
import { setStatus } from "./actions.ts";
import { presentStatus, UserStatus } from "./entity.ts";
import { StatusChanges } from "./params.ts";
import { statusOf } from "./queries.ts";

const scopes = ["read_user"] as const;

export const userStatuses = {
  getOfUser: endpoint({
    method: "GET",
    path: "/users/:id_or_username/status",
    summary: "Get the status of a user",
    access: anyone({ scopes }),
    params: Type.Object({ id_or_username: Type.String({ maxLength: 255 }) }),
    returns: UserStatus,
    async handle({ db, databases, actor, params, services }) {
      await refuseHiddenUser(actor, services.settings, params.id_or_username);
      const user = await userByIdOrName(databases, params.id_or_username);
      return presentStatus(canSeeProfile(actor, user) ? await statusOf(db, user.id) : undefined);
    },
  }),

  getOwn: endpoint({
    method: "GET",
    path: "/user/status",
    summary: "Get one's own status",
    access: signedIn({ scopes }),
    params: Type.Object({}),
    returns: UserStatus,
    handle: async ({ db, actor }) => presentStatus(await statusOf(db, actor.user.id)),
  }),

  set: endpoint({
    method: "PUT",
    path: "/user/status",
    summary: "Set one's own status; fields that are not sent are emptied",
    access: signedIn(),
    params: StatusChanges,
    returns: UserStatus,
    audit: "user_status_set",
    async handle({ tx, actor, params, audit }) {
      audit(targetOf(actor.user));
      return presentStatus(await setStatus(tx, actor.user.id, params, false));
    },
  }),

  change: endpoint({
    method: "PATCH",
    path: "/user/status",
    summary: "Change one's own status; fields that are not sent stay",
    access: signedIn(),
    params: StatusChanges,
    returns: UserStatus,
    audit: "user_status_set",
    async handle({ tx, actor, params, audit }) {
      audit(targetOf(actor.user));
      return presentStatus(await setStatus(tx, actor.user.id, params, true));
    },
  }),
};
