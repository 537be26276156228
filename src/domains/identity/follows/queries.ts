import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { summaryColumns } from "#domains/identity/users/queries.ts";

/** The followers of a user whose profile the caller can see. */
export const followersOf = (db: Db, userId: number, actor: Actor) =>
  db
    .selectFrom("follows as f")
    .innerJoin("users as u", "u.id", "f.follower_id")
    .select(summaryColumns)
    .where("f.followed_id", "=", userId)
    .where(isProfileVisibleTo(actor));

/** The users that a user follows and whose profile the caller can see. */
export const followedBy = (db: Db, userId: number, actor: Actor) =>
  db
    .selectFrom("follows as f")
    .innerJoin("users as u", "u.id", "f.followed_id")
    .select(summaryColumns)
    .where("f.follower_id", "=", userId)
    .where(isProfileVisibleTo(actor));

const isProfileVisibleTo = (actor: Actor) =>
  isAdministrator(actor) ? sql<boolean>`true` : sql<boolean>`(not u.private_profile or u.id = ${actor.user.id})`;
