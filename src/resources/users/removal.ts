import { sql } from "kysely";
import Type from "typebox";
import { NOT_INTERNAL } from "#access/user-kinds.ts";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";
import type { JobKind } from "#jobs/define.ts";
import { forbidden, missing } from "#lib/refusal.ts";
import { endSessions } from "#resources/sessions/actions.ts";
import { revokeTokensOf } from "#resources/tokens/actions.ts";
import { keepAnAdministrator } from "./administrators.ts";
import { refuseSoleOwner } from "./owned-groups.ts";

const Payload = Type.Object({ id: Type.Integer(), hard_delete: Type.Boolean() }, { additionalProperties: false });

/** The job that takes away all that an account left behind, and then its row. */
export const userRemoval: JobKind<typeof Payload> = {
  name: "users.remove",
  queue: "bulk",
  payload: Payload,
  key: ({ id }) => String(id),
};

interface Removal {
  /** What the user made goes too, where it would stay as the ghost user's. */
  readonly hardDelete: boolean;
  readonly actorId: number;
}

/** Ends an account at once and lets a job remove it; nobody finds it from then on. Gives the name that it had. */
export async function beginRemoval(tx: Tx, jobs: Jobs, userId: number, { hardDelete, actorId }: Removal) {
  const user = await tx
    .selectFrom("users")
    .select(["username", "user_type", "admin"])
    .where("id", "=", userId)
    .where("removal_began_at", "is", null)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!user) throw missing("User");
  if (userId === actorId) throw forbidden("The API initiating user cannot be removed by the API");
  if (!NOT_INTERNAL.includes(user.user_type)) throw forbidden("An internal user cannot be removed");
  if (user.admin) await keepAnAdministrator(tx, userId);
  if (!hardDelete) await refuseSoleOwner(tx, userId);
  await endAccount(tx, jobs, userId, hardDelete);
  return user.username;
}

/** The same for an account that goes with what it belongs to, whatever it owns. */
export async function endAccount(tx: Tx, jobs: Jobs, id: number, hardDelete: boolean) {
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
