import { administrator } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { targetOf } from "#domains/identity/users/named.ts";
import { UserId } from "#domains/identity/users/params.ts";
import { inviteUser } from "./actions.ts";
import { Invitation } from "./entity.ts";

export const invitations = {
  create: endpoint({
    method: "POST",
    path: "/users/:id/invitation",
    summary: "Create a link by which a user who never signed in chooses a password; it ends earlier ones",
    access: administrator(),
    params: UserId,
    returns: Invitation,
    audit: "user_invited",
    async handle({ tx, params, services, site, audit }) {
      const { user, url, expires_at, mailed } = await inviteUser(tx, services, params.id, site);
      audit({ ...targetOf(user), details: { mailed, expires_at } });
      return { url, expires_at };
    },
  }),
};
