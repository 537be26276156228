import Type from "typebox";
import { administrator } from "#access/access.ts";
import type { Db } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Id } from "#http/params/vocabulary.ts";
import { missing } from "#lib/refusal.ts";
import { NewTokenOfUser } from "#domains/identity/tokens/params.ts";
import { inState, tokensOf } from "#domains/identity/tokens/queries.ts";
import { findRotated } from "#domains/identity/tokens/replay.ts";
import { handleCreate, handleRevoke } from "#domains/identity/tokens/handlers.ts";
import { ImpersonationToken, NewImpersonationToken, presentImpersonationToken } from "./entity.ts";

const TokenOfUser = Type.Object({ user_id: Id, impersonation_token_id: Id });

/** Tokens with which administrators act as a user; only administrators see them. */
export const impersonationTokens = {
  list: endpoint({
    method: "GET",
    path: "/users/:user_id/impersonation_tokens",
    summary: "List the impersonation tokens of a user",
    access: administrator(),
    params: Type.Object({ user_id: Id, state: Type.Optional(Type.Enum(["all", "active", "inactive"])) }),
    returns: pageOf(ImpersonationToken, { id: "t.id", sort: "desc" }),
    async handle({ db, params: { user_id, state = "all" }, page }) {
      await requireUser(db, user_id);
      const tokens = tokensOf(db, user_id, { impersonation: true });
      return page(state === "all" ? tokens : tokens.where(inState(state)), presentImpersonationToken);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/users/:user_id/impersonation_tokens/:impersonation_token_id",
    summary: "Get an impersonation token of a user",
    access: administrator(),
    params: TokenOfUser,
    returns: ImpersonationToken,
    handle: async ({ db, params }) => presentImpersonationToken(await tokenOfUser(db, params)),
  }),

  create: endpoint({
    method: "POST",
    path: "/users/:user_id/impersonation_tokens",
    summary: "Create an impersonation token of a user",
    access: administrator(),
    params: NewTokenOfUser,
    returns: NewImpersonationToken,
    audit: "impersonation_token_created",
    idempotent: { replayFor: findRotated },
    async handle({ params, ...context }) {
      const token = await handleCreate(context, { ...params, userId: params.user_id, impersonation: true });
      return { ...token, impersonation: true as const };
    },
  }),

  revoke: endpoint({
    method: "DELETE",
    path: "/users/:user_id/impersonation_tokens/:impersonation_token_id",
    summary: "Revoke an impersonation token of a user",
    access: administrator(),
    params: TokenOfUser,
    audit: "impersonation_token_revoked",
    conditional: true,
    handle: async ({ params, ...context }) => handleRevoke(context, await tokenOfUser(context.tx, params)),
  }),
};

async function tokenOfUser(
  db: Db,
  { user_id, impersonation_token_id: id }: { user_id: number; impersonation_token_id: number },
) {
  await requireUser(db, user_id);
  const token = await tokensOf(db, user_id, { impersonation: true }).where("t.id", "=", id).executeTakeFirst();
  if (!token) throw missing("Impersonation Token");
  return token;
}

async function requireUser(db: Db, id: number) {
  const user = await db
    .selectFrom("users")
    .select("id")
    .where("id", "=", id)
    .where("removal_began_at", "is", null)
    .executeTakeFirst();
  if (!user) throw missing("User");
}
