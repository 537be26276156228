import Type from "typebox";
import { administrator } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { Flag } from "#http/params/vocabulary.ts";
import { badRequest, forbidden, missing } from "#lib/refusal.ts";
import { deployKeysAddedBy } from "#resources/deploy-keys/queries.ts";
import { removeSecondFactor } from "#resources/second-factor/actions.ts";
import { lockedUser, targetOf } from "./named.ts";
import { UserId } from "./params.ts";
import { beginRemoval } from "./removal.ts";
import { type MoveName, moveUser, refuseUnlessPending } from "./states.ts";

const Done = Type.Boolean({ description: "Always true" });

/** An endpoint that moves a user to another state. */
const move = <const Name extends MoveName, const Event extends string>(name: Name, audit: Event, summary: string) =>
  endpoint({
    method: "POST",
    path: `/users/:id/${name}`,
    summary,
    access: administrator(),
    params: UserId,
    returns: Done,
    audit,
    async handle({ tx, actor, params, audit }) {
      const user = await moveUser(tx, name, params.id, actor.user.id);
      // What they may no longer open, these keys still do.
      const keys = name === "block" || name === "ban" ? await deployKeysAddedBy(tx, user.id) : [];
      audit({ ...targetOf(user), details: { from: user.state, ...(keys.length > 0 && { deploy_keys: keys }) } });
      return true;
    },
  });

/** What administrators do to accounts. */
export const userModeration = {
  block: move("block", "user_blocked", "Block a user"),
  unblock: move("unblock", "user_unblocked", "Unblock a user"),
  ban: move("ban", "user_banned", "Ban a user"),
  unban: move("unban", "user_unbanned", "Unban a user"),
  deactivate: move("deactivate", "user_deactivated", "Deactivate a user who has not been active for long"),
  activate: move("activate", "user_activated", "Activate a deactivated user"),
  approve: move("approve", "user_approved", "Let in a user who waits for approval"),

  reject: endpoint({
    method: "POST",
    path: "/users/:id/reject",
    summary: "Turn away a user who waits for approval, and delete the account",
    access: administrator(),
    params: UserId,
    returns: Done,
    audit: "user_rejected",
    async handle({ tx, actor, params: { id }, services, audit }) {
      await refuseUnlessPending(tx, id);
      const username = await beginRemoval(tx, services.jobs, id, { hardDelete: true, actorId: actor.user.id });
      audit(targetOf({ id, username }));
      return true;
    },
  }),

  remove: endpoint({
    method: "DELETE",
    path: "/users/:id",
    summary: "Delete a user",
    access: administrator(),
    params: Type.Object({ ...UserId.properties, hard_delete: Flag }),
    audit: "user_deleted",
    async handle({ tx, actor, params: { id, hard_delete: hardDelete = false }, services, audit }) {
      const username = await beginRemoval(tx, services.jobs, id, { hardDelete, actorId: actor.user.id });
      audit({ ...targetOf({ id, username }), details: { hard_delete: hardDelete } });
    },
  }),

  disableTwoFactor: endpoint({
    method: "PATCH",
    path: "/users/:id/disable_two_factor",
    summary: "Take away the second factor of a user",
    access: administrator(),
    params: UserId,
    audit: "user_two_factor_disabled",
    async handle({ tx, params, audit }) {
      const user = await lockedUser(tx, params.id);
      if (user.admin) throw forbidden("Two-factor authentication for admins cannot be disabled via the API");
      const removed = await removeSecondFactor(tx, user.id);
      if (!removed) throw badRequest("Two-factor authentication is not enabled for this user");
      audit(targetOf(user));
    },
  }),

  removeIdentity: endpoint({
    method: "DELETE",
    path: "/users/:id/identities/:provider",
    summary: "Remove the identity that a user has at a provider",
    access: administrator(),
    params: Type.Object({ ...UserId.properties, provider: Type.String({ maxLength: 128 }) }),
    audit: "user_identity_removed",
    async handle({ tx, params: { id, provider }, audit }) {
      const user = await lockedUser(tx, id);
      const { numDeletedRows } = await tx
        .deleteFrom("identities")
        .where("user_id", "=", id)
        .where("provider", "=", provider)
        .executeTakeFirst();
      if (numDeletedRows === 0n) throw missing("Identity");
      audit({ ...targetOf(user), details: { provider } });
    },
  }),
};
