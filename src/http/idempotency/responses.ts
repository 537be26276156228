import { sql } from "kysely";
import type { Databases, Tx } from "#db/database.ts";
import { unavailable, unprocessable } from "#lib/refusal.ts";
import type { Sealing } from "#lib/sealing.ts";
import type { KeyedRequest } from "./keyed-request.ts";

/** How long a response can be replayed. A response that shows a secret once must not be lost with its connection. */
const REPLAY_TTL = "interval '10 minutes'";

export interface StoredResponse {
  readonly status: number;
  readonly body: unknown;
}

interface Row {
  readonly request_digest: Buffer;
  readonly sealed_answer: Buffer;
  readonly status: number;
}

/** Claims a key for this request, or returns the response that is stored for it; waits for one that is in progress. */
export async function claimKey(tx: Tx, sealing: Sealing, request: KeyedRequest): Promise<StoredResponse | undefined> {
  const { credential, key, digest } = request;
  const id = { caller_digest: Buffer.from(credential, "hex"), key };
  const claimed = await tx
    .insertInto("kept_answers")
    .values({ ...id, request_digest: digest })
    .onConflict((conflict) =>
      conflict
        .columns(["caller_digest", "key"])
        .doUpdateSet({ request_digest: digest, sealed_answer: null, status: null, created_at: sql<string>`now()` })
        .where("kept_answers.created_at", "<=", sql<string>`now() - ${sql.raw(REPLAY_TTL)}`),
    )
    .returning("key")
    .executeTakeFirst();
  if (claimed) return undefined;
  const row = await tx
    .selectFrom("kept_answers")
    .select(["request_digest", "sealed_answer", "status"])
    .where("caller_digest", "=", id.caller_digest)
    .where("key", "=", key)
    .executeTakeFirst();
  // It expired and was removed between the two statements.
  if (!row) throw unavailable();
  return unseal(row as Row, sealing, request);
}

/** Stores the response under its claimed key; it may contain the value of a token, so it is sealed. */
export async function storeResponse(
  tx: Tx,
  sealing: Sealing,
  { credential, key }: KeyedRequest,
  { status, body }: StoredResponse,
) {
  await tx
    .updateTable("kept_answers")
    .set({ sealed_answer: await sealing.seal(JSON.stringify(body), sealingContext(credential, key)), status })
    .where("caller_digest", "=", Buffer.from(credential, "hex"))
    .where("key", "=", key)
    .execute();
}

export async function removeExpiredResponses(tx: Tx) {
  await sql`delete from kept_answers where created_at <= now() - ${sql.raw(REPLAY_TTL)}`.execute(tx);
}

/** A stored response that was found by credential and key alone, before its caller and parameters are known. */
export interface Replay {
  /** When the transaction began that stored it. */
  readonly storedAt: string;
  /** Opens the response to the same request; any other is refused. */
  open(digest: Buffer): Promise<StoredResponse>;
}

const STORED = `
  select request_digest, sealed_answer, status, created_at from kept_answers
  where caller_digest = $1 and key = $2 and created_at > now() - ${REPLAY_TTL}`;

export async function findReplay(
  db: Databases,
  sealing: Sealing,
  { credential, key }: Omit<KeyedRequest, "digest">,
): Promise<Replay | undefined> {
  const [row] = await db.point.query<Row & { created_at: string }>(STORED, [Buffer.from(credential, "hex"), key]);
  return row && { storedAt: row.created_at, open: (digest) => unseal(row, sealing, { credential, key, digest }) };
}

async function unseal(row: Row, sealing: Sealing, { credential, key, digest }: KeyedRequest): Promise<StoredResponse> {
  if (!row.request_digest.equals(digest)) throw unprocessable("The Idempotency-Key was used for another request");
  const body: unknown = JSON.parse(await sealing.unseal(row.sealed_answer, sealingContext(credential, key)));
  return { status: row.status, body };
}

const sealingContext = (credential: string, key: string) => `kept_answers ${credential} ${key}`;
