import type { Databases, Tx } from "#db/database.ts";
import { actingUserByIdOrName } from "#access/callers.ts";
import { missing } from "#lib/refusal.ts";
import { type Account, account } from "./queries.ts";

/** The user whom a request names by id. */
export async function namedUser(databases: Databases, id: number): Promise<Account> {
  const user = await account(databases, id);
  if (!user) throw missing("User");
  return user;
}

/** The user whom a request names by id, or by username in any case. */
export async function userByIdOrName(databases: Databases, idOrName: string): Promise<Account> {
  const user = await actingUserByIdOrName(databases, idOrName);
  return namedUser(databases, user?.id ?? 0);
}

/** The same for a write: until it ends, nobody else changes the user, and their removal does not begin. */
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

/** A user as the audit log knows them. */
export const targetOf = ({ id, username }: Pick<Account, "id" | "username">) =>
  ({ type: "User", id, name: username, entity: { type: "User", id } }) as const;
