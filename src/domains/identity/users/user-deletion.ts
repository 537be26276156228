import { sql } from "kysely";
import Type from "typebox";
import { NOT_INTERNAL } from "#access/user-kinds.ts";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";
import type { JobKind } from "#jobs/kind.ts";
import { forbidden, missing } from "#lib/refusal.ts";
import type { DeletedUser } from "#domains/foundation/deletions/deletions.ts";
import { endSessions, revokeTokensOf } from "#domains/identity/credentials/actions.ts";
import { refuseLastAdministrator } from "./administrators.ts";
import { refuseSoleOwner } from "./owned-groups.ts";

const Payload = Type.Object({ id: Type.Integer(), hard_delete: Type.Boolean() }, { additionalProperties: false });

/** The job that deletes what refers to an account, and then its row. */
export const userRemoval: JobKind<typeof Payload> = {
  name: "users.remove",
  queue: "bulk",
  payload: Payload,
  key: ({ id }) => String(id),
};

interface Removal {
  /** Whether what the user created is deleted too instead of being moved to the ghost user. */
  readonly hardDelete: boolean;
  readonly actorId: number;
}

/** Closes an account at once, hides it, and queues its deletion; returns its username and when it last changed. */
export async function beginRemoval(tx: Tx, jobs: Jobs, userId: number, { hardDelete, actorId }: Removal) {
  const user = await tx
    .selectFrom("users")
    .select(["username", "user_type", "admin", "updated_at"])
    .where("id", "=", userId)
    .where("removal_began_at", "is", null)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!user) throw missing("User");
  if (userId === actorId) throw forbidden("The API initiating user cannot be removed by the API");
  if (!NOT_INTERNAL.includes(user.user_type)) throw forbidden("An internal user cannot be removed");
  if (user.admin) await refuseLastAdministrator(tx, userId);
  if (!hardDelete) await refuseSoleOwner(tx, userId);
  await closeAccount(tx, jobs, userId, hardDelete);
  return { username: user.username, updated_at: user.updated_at };
}

/** Closes an account and queues its deletion without checks, for one that is deleted with its group. */
export async function closeAccount(tx: Tx, jobs: Jobs, id: number, hardDelete: boolean) {
  const now = sql<string>`now()`;
  await tx
    .updateTable("users")
    .set({ state: "blocked", removal_began_at: now, updated_at: now })
    .where("id", "=", id)
    .execute();
  await endSessions(tx, id);
  await revokeTokensOf(tx, id, { impersonation: true });
  await jobs.add(tx, userRemoval, { id, hard_delete: hardDelete });
}

/** A user whose deletion began and is not complete; with `lock`, nothing new can refer to them until the transaction ends. */
export async function deletingUser(tx: Tx, id: number, lock: boolean) {
  const query = tx
    .selectFrom("users")
    .select(["id", "namespace_id"])
    .where("id", "=", id)
    .where("removal_began_at", "is not", null);
  return (lock ? query.forUpdate() : query).executeTakeFirst();
}

/** Deletes an account that nothing refers to any more, with the previous paths in its namespace. */
export async function removeAccount(tx: Tx, { id, namespace_id }: Pick<DeletedUser, "id" | "namespace_id">) {
  await tx.deleteFrom("users").where("id", "=", id).execute();
  await tx.deleteFrom("routes").where("parent_id", "=", namespace_id).execute();
  await tx.deleteFrom("namespaces").where("id", "=", namespace_id).execute();
}
