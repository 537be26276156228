import type { Databases, Tx } from "#db/database.ts";
import { actingUserByIdOrName } from "#access/acting-users.ts";
import { missing } from "#lib/refusal.ts";
import { type Account, findAccount } from "./queries.ts";

/** The user that a request names by id. */
export async function userById(databases: Databases, id: number): Promise<Account> {
  const user = await findAccount(databases, id);
  if (!user) throw missing("User");
  return user;
}

/** The user that a request names by id, or by username in any case. */
export async function userByIdOrName(databases: Databases, idOrName: string): Promise<Account> {
  const user = await actingUserByIdOrName(databases, idOrName);
  return userById(databases, user?.id ?? 0);
}

/** Locks a user against other changes and against deletion until the transaction ends. */
export async function lockedUser(tx: Tx, id: number) {
  const user = await tx
    .selectFrom("users")
    .select(["id", "username", "state", "user_type", "admin", "email"])
    .where("id", "=", id)
    .where("removal_began_at", "is", null)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!user) throw missing("User");
  return user;
}

export type LockedUser = Awaited<ReturnType<typeof lockedUser>>;

/** A user as the target of an audit event. */
export const targetOf = ({ id, username }: Pick<Account, "id" | "username">) =>
  ({ type: "User", id, name: username, entity: { type: "User", id } }) as const;
