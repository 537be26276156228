import { sql } from "kysely";
import type { Static } from "typebox";
import type { Db, Tx } from "#db/database.ts";
import { type Problems, refuse, throwProblems, tooLong } from "#lib/problems.ts";
import type { StatusRow } from "./entity.ts";
import type { StatusChanges } from "./params.ts";

/** What counts where a part is left out. */
const NOTHING: StatusRow = {
  emoji: "speech_balloon",
  message: "",
  availability: "not_set",
  clear_status_at: null,
};

/** What a user says now; it ends by the clock of PostgreSQL. */
export const statusOf = (db: Db, userId: number): Promise<StatusRow | undefined> =>
  db
    .selectFrom("user_statuses")
    .select(["emoji", "message", "availability", "clear_status_at"])
    .where("user_id", "=", userId)
    .where(sql<boolean>`(clear_status_at is null or clear_status_at > now())`)
    .executeTakeFirst();

/** Says something else in place of what was said, or changes a part of it. */
export async function setStatus(tx: Tx, userId: number, given: Static<typeof StatusChanges>, keepsRest: boolean) {
  await sql`select from users where id = ${userId} for no key update`.execute(tx);
  const before = (keepsRest && (await statusOf(tx, userId))) || NOTHING;
  const wanted: StatusRow = {
    emoji: chosen(given.emoji, before.emoji, NOTHING.emoji) || NOTHING.emoji,
    message: chosen(given.message, before.message, NOTHING.message),
    availability: chosen(given.availability, before.availability, NOTHING.availability),
    clear_status_at: before.clear_status_at,
  };
  refuseUnusable(wanted);
  const saysNothing = wanted.emoji === NOTHING.emoji && wanted.message === "" && wanted.availability === "not_set";
  if (saysNothing) {
    await tx.deleteFrom("user_statuses").where("user_id", "=", userId).execute();
    return undefined;
  }
  const columns = {
    ...wanted,
    ...(given.clear_status_after !== undefined && { clear_status_at: endAfter(given.clear_status_after) }),
  };
  return tx
    .insertInto("user_statuses")
    .values({ user_id: userId, ...columns })
    .onConflict((clash) => clash.column("user_id").doUpdateSet(columns))
    .returning(["emoji", "message", "availability", "clear_status_at"])
    .executeTakeFirst();
}

/** What is left out stays, null goes back to nothing. */
const chosen = <T>(given: T | null | undefined, before: T, nothing: T): T =>
  given === undefined ? before : (given ?? nothing);

const endAfter = (length: string | null) =>
  length === null ? null : sql<string>`now() + ${length.replace("_", " ")}::interval`;

function refuseUnusable({ emoji, message }: StatusRow) {
  const problems: Problems = {};
  if (!/^[a-z0-9_+-]{1,100}$/i.test(emoji)) refuse(problems, "emoji", "is not a valid emoji name");
  tooLong(problems, "message", message, 100);
  throwProblems(problems);
}
