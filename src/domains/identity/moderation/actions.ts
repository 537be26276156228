import { sql } from "kysely";
import { NOT_INTERNAL } from "#access/user-kinds.ts";
import type { Tx } from "#db/database.ts";
import { conflict, forbidden, Refusal } from "#lib/refusal.ts";
import { endSessions } from "#domains/identity/credentials/actions.ts";
import { forgetAttempts } from "#domains/identity/sessions/attempts.ts";
import { refuseLastAdministrator } from "#domains/identity/users/administrators.ts";
import { type LockedUser, lockedUser } from "#domains/identity/users/named.ts";

type State = LockedUser["state"];

interface Transition {
  readonly from: readonly State[];
  readonly to: State;
  /** A user in this state is left as they are, without a refusal. */
  readonly noopIn?: State;
  /** The refusal for any other state. */
  readonly refusal: (state: State) => Refusal;
  /** The refusal for internal accounts and oneself; only transitions that close an account have one. */
  readonly refusalForInternal?: string;
  /** Whether it is only for users who have not been active for long. */
  readonly dormantOnly?: true;
}

/** Clients know these messages without the words of the status. */
const refused = (message: string) => new Refusal("forbidden", message);

const DORMANT_AFTER_DAYS = 90;

const TRANSITIONS = {
  block: {
    from: ["active", "deactivated", "blocked_pending_approval"],
    to: "blocked",
    noopIn: "blocked",
    refusal: (state) =>
      forbidden(`${state === "banned" ? "Banned" : "LDAP blocked"} users cannot be modified by the API`),
    refusalForInternal: "An internal user cannot be blocked",
  },
  unblock: {
    from: ["blocked", "blocked_pending_approval", "banned"],
    to: "active",
    noopIn: "active",
    refusal: (state) =>
      forbidden(`${state === "deactivated" ? "Deactivated" : "LDAP blocked"} users cannot be unblocked by the API`),
  },
  ban: {
    from: ["active"],
    to: "banned",
    refusal: (state) => refused(`You cannot ban ${state} users.`),
    refusalForInternal: "You cannot ban internal users.",
  },
  unban: {
    from: ["banned"],
    to: "active",
    refusal: (state) => refused(`You cannot unban ${state} users.`),
  },
  deactivate: {
    from: ["active"],
    to: "deactivated",
    noopIn: "deactivated",
    refusal: () => refused("Error occurred. A blocked user cannot be deactivated"),
    refusalForInternal: "Internal users cannot be deactivated",
    dormantOnly: true,
  },
  activate: {
    from: ["deactivated"],
    to: "active",
    noopIn: "active",
    refusal: () => refused("Error occurred. A blocked user must be unblocked to be activated"),
  },
  approve: {
    from: ["blocked_pending_approval"],
    to: "active",
    refusal: () => notPending("approve"),
  },
} as const satisfies Record<string, Transition>;

export type TransitionName = keyof typeof TRANSITIONS;

/** Moves a user to another state; leaving the active state ends their sessions. */
export async function changeState(tx: Tx, name: TransitionName, userId: number, actorId: number): Promise<LockedUser> {
  const { from, to, noopIn, refusal, refusalForInternal, dormantOnly }: Transition = TRANSITIONS[name];
  const user = await lockedUser(tx, userId);
  if (refusalForInternal !== undefined) {
    if (userId === actorId) throw forbidden(`The API initiating user cannot be ${to} by the API`);
    if (!NOT_INTERNAL.includes(user.user_type)) throw refused(refusalForInternal);
  }
  if (user.state === noopIn) return user;
  if (!from.includes(user.state)) throw refusal(user.state);
  if (dormantOnly) await refuseActive(tx, user);
  if (user.admin && to !== "active") await refuseLastAdministrator(tx, userId);
  await tx
    .updateTable("users")
    .set({ state: to, updated_at: sql<string>`now()` })
    .where("id", "=", userId)
    .execute();
  if (to !== "active") await endSessions(tx, userId);
  return user;
}

/** Ends the lock of an account and resets its failed attempts; returns both as they were. */
export async function unlockUser(tx: Tx, userId: number) {
  const user = await lockedUser(tx, userId);
  const lock = await tx
    .selectFrom("users")
    .select(["locked_until", "failed_attempts"])
    .where("id", "=", userId)
    .executeTakeFirstOrThrow();
  await forgetAttempts(tx, userId);
  return { user, lock };
}

export async function refuseUnlessPending(tx: Tx, userId: number) {
  const { state } = await lockedUser(tx, userId);
  if (state !== "blocked_pending_approval") throw notPending("reject");
}

const notPending = (verb: string) => conflict(`The user you are trying to ${verb} is not pending approval`);

async function refuseActive(tx: Tx, { id }: LockedUser) {
  const { rows } = await sql`
    select from users
    where id = ${id} and last_activity_on > (now() at time zone 'UTC')::date - ${sql.lit(DORMANT_AFTER_DAYS)}`.execute(
    tx,
  );
  if (rows.length === 0) return;
  throw refused(
    `The user you are trying to deactivate has been active in the past ${DORMANT_AFTER_DAYS} days and cannot be deactivated`,
  );
}
