import Type from "typebox";
import { administrator } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { deployKeysAddedBy } from "#domains/identity/credentials/queries.ts";
import { targetOf } from "#domains/identity/users/named.ts";
import { UserId } from "#domains/identity/users/params.ts";
import { beginRemoval } from "#domains/identity/users/user-deletion.ts";
import { changeState, refuseUnlessPending, type TransitionName, unlockUser } from "./actions.ts";

const Done = Type.Boolean({ description: "Always true" });

/** An endpoint that moves a user to another state. */
const transition = <const Name extends TransitionName, const Event extends string>(
  name: Name,
  audit: Event,
  summary: string,
) =>
  endpoint({
    method: "POST",
    path: `/users/:id/${name}`,
    summary,
    access: administrator(),
    params: UserId,
    returns: Done,
    audit,
    async handle({ tx, actor, params, audit }) {
      const user = await changeState(tx, name, params.id, actor.user.id);
      // These keys keep working, so the audit log names them.
      const keys = name === "block" || name === "ban" ? await deployKeysAddedBy(tx, user.id) : [];
      audit({ ...targetOf(user), details: { from: user.state, ...(keys.length > 0 && { deploy_keys: keys }) } });
      return true;
    },
  });

/** Changes of the state of an account by administrators. */
export const moderation = {
  block: transition("block", "user_blocked", "Block a user"),
  unblock: transition("unblock", "user_unblocked", "Unblock a user"),
  ban: transition("ban", "user_banned", "Ban a user"),
  unban: transition("unban", "user_unbanned", "Unban a user"),
  deactivate: transition("deactivate", "user_deactivated", "Deactivate a user who has not been active for long"),
  activate: transition("activate", "user_activated", "Activate a deactivated user"),
  approve: transition("approve", "user_approved", "Approve a user who is pending approval"),

  unlock: endpoint({
    method: "POST",
    path: "/users/:id/unlock",
    summary: "Unlock a user after too many wrong passwords or codes",
    access: administrator(),
    params: UserId,
    returns: Done,
    audit: "user_unlocked",
    async handle({ tx, params, audit }) {
      const { user, lock } = await unlockUser(tx, params.id);
      audit({ ...targetOf(user), details: lock });
      return true;
    },
  }),

  reject: endpoint({
    method: "POST",
    path: "/users/:id/reject",
    summary: "Reject a user who is pending approval, and delete the account",
    access: administrator(),
    params: UserId,
    returns: Done,
    audit: "user_rejected",
    async handle({ tx, actor, params: { id }, services, audit }) {
      await refuseUnlessPending(tx, id);
      const { username } = await beginRemoval(tx, services.jobs, id, { hardDelete: true, actorId: actor.user.id });
      audit(targetOf({ id, username }));
      return true;
    },
  }),
};
