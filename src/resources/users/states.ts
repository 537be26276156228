import { sql } from "kysely";
import { NOT_INTERNAL } from "#access/user-kinds.ts";
import type { Tx } from "#db/database.ts";
import { conflict, forbidden, Refusal } from "#lib/refusal.ts";
import { endSessions } from "#resources/sessions/actions.ts";
import { keepAnAdministrator } from "./administrators.ts";
import { type LockedUser, lockedUser } from "./named.ts";

type State = LockedUser["state"];

/** A change of a user's state. */
interface Move {
  readonly from: readonly State[];
  readonly to: State;
  /** Where what is asked for is so already, all is well. */
  readonly done?: State;
  /** Why it is refused from any other state. */
  refusal(state: State): Refusal;
  /** Why it is refused of an account of the installation itself; only what takes an account away is. */
  readonly internal?: string;
  /** Whether one may do it only to who has not been here for long. */
  readonly dormant?: true;
}

/** Clients know these texts without the words of the status. */
const refused = (text: string) => new Refusal("forbidden", text);

const LONG = 90;

const MOVES = {
  block: {
    from: ["active", "deactivated", "blocked_pending_approval"],
    to: "blocked",
    done: "blocked",
    refusal: (state) =>
      forbidden(`${state === "banned" ? "Banned" : "LDAP blocked"} users cannot be modified by the API`),
    internal: "An internal user cannot be blocked",
  },
  unblock: {
    from: ["blocked", "blocked_pending_approval", "banned"],
    to: "active",
    done: "active",
    refusal: (state) =>
      forbidden(`${state === "deactivated" ? "Deactivated" : "LDAP blocked"} users cannot be unblocked by the API`),
  },
  ban: {
    from: ["active"],
    to: "banned",
    refusal: (state) => refused(`You cannot ban ${state} users.`),
    internal: "You cannot ban internal users.",
  },
  unban: {
    from: ["banned"],
    to: "active",
    refusal: (state) => refused(`You cannot unban ${state} users.`),
  },
  deactivate: {
    from: ["active"],
    to: "deactivated",
    done: "deactivated",
    refusal: () => refused("Error occurred. A blocked user cannot be deactivated"),
    internal: "Internal users cannot be deactivated",
    dormant: true,
  },
  activate: {
    from: ["deactivated"],
    to: "active",
    done: "active",
    refusal: () => refused("Error occurred. A blocked user must be unblocked to be activated"),
  },
  approve: {
    from: ["blocked_pending_approval"],
    to: "active",
    refusal: () => notPending("approve"),
  },
} as const satisfies Record<string, Move>;

export type MoveName = keyof typeof MOVES;

/** Moves a user to another state; who is no longer active has no sessions any more. */
export async function moveUser(tx: Tx, name: MoveName, userId: number, actorId: number): Promise<LockedUser> {
  const move: Move = MOVES[name];
  const user = await lockedUser(tx, userId);
  if (move.internal !== undefined) {
    if (userId === actorId) throw forbidden(`The API initiating user cannot be ${move.to} by the API`);
    if (!NOT_INTERNAL.includes(user.user_type)) throw refused(move.internal);
  }
  if (user.state === move.done) return user;
  if (!move.from.includes(user.state)) throw move.refusal(user.state);
  if (move.dormant) await refuseActive(tx, user);
  if (user.admin && move.to !== "active") await keepAnAdministrator(tx, userId);
  await tx
    .updateTable("users")
    .set({ state: move.to, updated_at: sql<string>`now()` })
    .where("id", "=", userId)
    .execute();
  if (move.to !== "active") await endSessions(tx, userId);
  return user;
}

/** Refuses to turn somebody away who does not wait to be let in. */
export async function refuseUnlessPending(tx: Tx, userId: number) {
  const { state } = await lockedUser(tx, userId);
  if (state !== "blocked_pending_approval") throw notPending("reject");
}

const notPending = (verb: string) => conflict(`The user you are trying to ${verb} is not pending approval`);

async function refuseActive(tx: Tx, { id }: LockedUser) {
  const { rows } = await sql`
    select from users where id = ${id} and last_activity_on > (now() at time zone 'UTC')::date - ${sql.lit(LONG)}`.execute(
    tx,
  );
  if (rows.length === 0) return;
  throw refused(
    `The user you are trying to deactivate has been active in the past ${LONG} days and cannot be deactivated`,
  );
}
