import assert from "node:assert/strict";
import { sql } from "kysely";
import type { TestApp, TestUser } from "#test/support/app.ts";

export interface Made {
  readonly id: number;
  readonly username: string;
  readonly name: string;
  readonly email: string;
  readonly unconfirmed_email?: string;
}

export interface MadeToken {
  readonly id: number;
  readonly token: string;
}

/** Creates a service account of a group through the API. */
export async function makeAccount(app: TestApp, owner: TestUser, groupId: number, payload: object = {}): Promise<Made> {
  const { status, body, text } = await app.post(`/groups/${groupId}/service_accounts`, { token: owner.token, payload });
  assert.equal(status, 201, text);
  return body;
}

/** Creates a token of a service account through the API. */
export async function makeAccountToken(
  app: TestApp,
  owner: TestUser,
  groupId: number,
  accountId: number,
  payload: object = {},
): Promise<MadeToken> {
  const { status, body, text } = await app.post(
    `/groups/${groupId}/service_accounts/${accountId}/personal_access_tokens`,
    { token: owner.token, payload: { name: "t", scopes: ["api"], ...payload } },
  );
  assert.equal(status, 201, text);
  return body;
}

/** The queued mails for a user, by kind and address. */
export async function mailsFor(app: TestApp, userId: number): Promise<{ kind: string; email: string }[]> {
  const { rows } = await sql<{ kind: string; email: string }>`
    select data->'payload'->>'kind' as kind, data->'payload'->>'email' as email from jobs.job
    where name = 'mail' and (data->'payload'->>'userId')::bigint = ${userId}`.execute(app.services.db.write);
  return rows;
}
