import { hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { sql } from "kysely";
import type { Actor, CallerRow, UserByToken } from "#access/actor.ts";
import { type Authenticated, stateProblem, tokenDigest } from "#access/authenticate.ts";
import { actingUserColumns, groupIsEnding } from "#access/callers.ts";
import type { Databases, Tx } from "#db/database.ts";
import { badParameter, unavailable, unprocessable } from "#lib/refusal.ts";
import type { Sealing } from "#lib/sealing.ts";

/**
 * An answer that is shown only once must not be lost with its connection. A caller who gives a request a key of their
 * own may ask again with it for so long, and is given the same answer.
 */
const KEPT = "interval '10 minutes'";

/** A request with a key: whose it is, and what it asks for. */
export interface Keyed {
  /** SHA-256 of the token or the session that was shown, in hex. */
  readonly caller: string;
  readonly key: string;
  readonly request: Buffer;
}

export interface KeptAnswer {
  readonly status: number;
  readonly answer: unknown;
}

const isKey = (text: string) => /^[\x20-\x7e]{1,255}$/.test(text);

/** A request by its key, where its caller gave it one. */
export function keyedRequest(
  headers: IncomingHttpHeaders,
  { used, actor }: Authenticated,
  operation: string,
  params: object,
): Keyed | undefined {
  const key = headers["idempotency-key"]?.toString();
  if (key === undefined || !used || !actor) return undefined;
  if (!isKey(key)) throw badParameter("Idempotency-Key must be 1 to 255 printable characters of ASCII");
  const caller = "token_digest" in used ? used.token_digest : used.session_digest;
  return { caller, key, request: requestDigest(operation, actor, params) };
}

/** What is asked for, however it was spelled: the operation, who acts, and the parameters in one order. */
export function requestDigest(operation: string, { user }: Actor, params: object): Buffer {
  const named = Object.entries(params).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return hash("sha256", JSON.stringify([operation, user.id, named]), "buffer");
}

interface Row {
  readonly request_digest: Buffer;
  readonly sealed_answer: Buffer;
  readonly status: number;
}

/** Reserves the place of an answer, or gives the one that is there; one that is being made is waited for. */
export async function takePlace(tx: Tx, sealing: Sealing, keyed: Keyed): Promise<KeptAnswer | undefined> {
  const { caller, key, request } = keyed;
  const place = { caller_digest: Buffer.from(caller, "hex"), key };
  const taken = await tx
    .insertInto("kept_answers")
    .values({ ...place, request_digest: request })
    .onConflict((clash) =>
      clash
        .columns(["caller_digest", "key"])
        .doUpdateSet({ request_digest: request, sealed_answer: null, status: null, created_at: sql<string>`now()` })
        .where("kept_answers.created_at", "<=", sql<string>`now() - ${sql.raw(KEPT)}`),
    )
    .returning("key")
    .executeTakeFirst();
  if (taken) return undefined;
  const row = await tx
    .selectFrom("kept_answers")
    .select(["request_digest", "sealed_answer", "status"])
    .where("caller_digest", "=", place.caller_digest)
    .where("key", "=", key)
    .executeTakeFirst();
  // It was too old a moment after it was not.
  if (!row) throw unavailable();
  return opened(row as Row, sealing, keyed);
}

/** Keeps the answer in its place; the value of a token is in it, so it is sealed. */
export async function keepAnswer(tx: Tx, sealing: Sealing, { caller, key }: Keyed, { status, answer }: KeptAnswer) {
  await tx
    .updateTable("kept_answers")
    .set({ sealed_answer: await sealing.seal(JSON.stringify(answer), placeOf(caller, key)), status })
    .where("caller_digest", "=", Buffer.from(caller, "hex"))
    .where("key", "=", key)
    .execute();
}

/** Removes answers that nobody can ask for any more. */
export async function removeOldAnswers(tx: Tx) {
  await sql`delete from kept_answers where created_at <= now() - ${sql.raw(KEPT)}`.execute(tx);
}

async function opened(row: Row, sealing: Sealing, { caller, key, request }: Keyed): Promise<KeptAnswer> {
  if (!row.request_digest.equals(request)) throw unprocessable("The Idempotency-Key was used for another request");
  const answer: unknown = JSON.parse(await sealing.unseal(row.sealed_answer, placeOf(caller, key)));
  return { status: row.status, answer };
}

const placeOf = (caller: string, key: string) => `kept_answers ${caller} ${key}`;

/** A caller whose token ended by the very request that is asked again. */
interface Repeated {
  readonly actor: UserByToken;
  answer(request: Buffer): Promise<KeptAnswer>;
}

// The successor was made in the transaction that kept the answer, so it is that rotation which ended the token.
const REPEATED = `
  select k.request_digest, k.sealed_answer, k.status, t.id as token_id, t.scopes, t.impersonation, ${actingUserColumns}
  from kept_answers k
    join personal_access_tokens t on t.token_digest = k.caller_digest
    join personal_access_tokens s on s.previous_id = t.id and s.created_at = k.created_at
    join users u on u.id = t.user_id
  where k.caller_digest = $1 and k.key = $2 and k.created_at > now() - ${KEPT}
    and t.revoked_at <= now() and (t.expires_at is null or t.expires_at > (now() at time zone 'UTC')::date)
    and not (${groupIsEnding})`;

/** Who asks again with the token that the kept answer ended; all other tokens are as good or bad as they are. */
export async function whoRepeats(
  db: Databases,
  sealing: Sealing,
  headers: IncomingHttpHeaders,
  token: string,
): Promise<Repeated | undefined> {
  const key = headers["idempotency-key"]?.toString();
  if (key === undefined || !isKey(key)) return undefined;
  const caller = tokenDigest(token);
  const [row] = await db.point.query<Row & CallerRow>(REPEATED, [Buffer.from(caller, "hex"), key]);
  if (!row || stateProblem(row) !== undefined) return undefined;
  const { token_id: id, scopes, impersonation } = row;
  return {
    actor: { kind: "user by token", user: row, token: { id, scopes, impersonation } },
    answer: (request) => opened(row, sealing, { caller, key, request }),
  };
}
