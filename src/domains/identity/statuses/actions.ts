import { sql } from "kysely";
import type { Static } from "typebox";
import type { Tx } from "#db/database.ts";
import { checkLength, type Problems, refuse, throwProblems } from "#lib/problems.ts";
import type { StatusRow } from "./entity.ts";
import type { StatusChanges } from "./params.ts";
import { statusOf } from "./queries.ts";

/** The values of the fields that were never set. */
const EMPTY: StatusRow = {
  emoji: "speech_balloon",
  message: "",
  availability: "not_set",
  clear_status_at: null,
};

/** Sets the status of a user; fields that are not sent keep their value if `keepRest` is true, else they are emptied. */
export async function setStatus(tx: Tx, userId: number, changes: Static<typeof StatusChanges>, keepRest: boolean) {
  await sql`select from users where id = ${userId} for no key update`.execute(tx);
  const current = (keepRest && (await statusOf(tx, userId))) || EMPTY;
  const status: StatusRow = {
    emoji: valueOf(changes.emoji, current.emoji, EMPTY.emoji) || EMPTY.emoji,
    message: valueOf(changes.message, current.message, EMPTY.message),
    availability: valueOf(changes.availability, current.availability, EMPTY.availability),
    clear_status_at: current.clear_status_at,
  };
  checkStatus(status);
  const isEmpty = status.emoji === EMPTY.emoji && status.message === "" && status.availability === "not_set";
  if (isEmpty) {
    await tx.deleteFrom("user_statuses").where("user_id", "=", userId).execute();
    return undefined;
  }
  const columns = {
    ...status,
    ...(changes.clear_status_after !== undefined && { clear_status_at: endAfter(changes.clear_status_after) }),
  };
  return tx
    .insertInto("user_statuses")
    .values({ user_id: userId, ...columns })
    .onConflict((clash) => clash.column("user_id").doUpdateSet(columns))
    .returning(["emoji", "message", "availability", "clear_status_at"])
    .executeTakeFirst();
}

/** The value of a field: unchanged if it is not sent, empty if it is null. */
const valueOf = <T>(sent: T | null | undefined, current: T, empty: T): T =>
  sent === undefined ? current : (sent ?? empty);

const endAfter = (duration: string | null) =>
  duration === null ? null : sql<string>`now() + ${duration.replace("_", " ")}::interval`;

function checkStatus({ emoji, message }: StatusRow) {
  const problems: Problems = {};
  if (!/^[a-z0-9_+-]{1,100}$/i.test(emoji)) refuse(problems, "emoji", "is not a valid emoji name");
  checkLength(problems, "message", message, 100);
  throwProblems(problems);
}
