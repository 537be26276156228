import Type from "typebox";
import { administrator, signedIn } from "#access/access.ts";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { type Scope, SCOPES } from "#access/scopes.ts";
import type { Db } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Id } from "#http/params/vocabulary.ts";
import { badParameter, badRequest, forbidden, missing } from "#lib/refusal.ts";
import { NewToken, presentToken, Token } from "./entity.ts";
import { revokeFamily } from "./family.ts";
import { listTokens } from "./list.ts";
import { NewOwnToken, NewTokenOfUser, RotateToken, TokenFilters, TokenId } from "./params.ts";
import { tokensOf } from "./queries.ts";
import { findRotated } from "./replay.ts";
import { handleCreate, handleRevoke, handleRotate } from "./handlers.ts";

/** A token may always read and revoke itself, whatever its scopes. */
const withAnyScope = signedIn({ scopes: SCOPES });
const rotating = (scopes: readonly "self_rotate"[] = []) => ({ ...signedIn({ scopes }), onRevokedToken: revokeFamily });

const Self = Type.Object({});

export const personalAccessTokens = {
  list: endpoint({
    method: "GET",
    path: "/personal_access_tokens",
    summary: "List personal access tokens",
    access: signedIn(),
    params: Type.Object({ user_id: Type.Optional(Id), ...TokenFilters.properties }),
    returns: pageOf(Token, {
      ...{ id: "t.id", sort: "desc", keyset: ["id"], type: "PersonalAccessToken" },
    }),
    handle({ db, actor, params, page }) {
      const ownOnly = !isAdministrator(actor);
      if (ownOnly && params.user_id !== undefined && params.user_id !== actor.user.id)
        throw forbidden("The tokens of others are for administrators");
      const userId = ownOnly ? actor.user.id : params.user_id;
      return page(tokensOf(db, undefined), presentToken, listTokens(userId, params));
    },
  }),

  getSelf: endpoint({
    method: "GET",
    path: "/personal_access_tokens/self",
    summary: "Get the token that the request is made with",
    access: withAnyScope,
    params: Self,
    returns: Token,
    handle: async ({ db, actor }) => presentToken(await ownToken(db, actor)),
  }),

  get: endpoint({
    method: "GET",
    path: "/personal_access_tokens/:id",
    summary: "Get a personal access token",
    access: signedIn(),
    params: TokenId,
    returns: Token,
    handle: async ({ db, actor, params }) => presentToken(await visibleToken(db, actor, params.id)),
  }),

  createForUser: endpoint({
    method: "POST",
    path: "/users/:user_id/personal_access_tokens",
    summary: "Create a personal access token for a user",
    access: administrator(),
    params: NewTokenOfUser,
    returns: NewToken,
    audit: "personal_access_token_created",
    idempotent: { replayFor: findRotated },
    handle: ({ params, ...context }) => handleCreate(context, { ...params, userId: params.user_id }),
  }),

  createOwn: endpoint({
    method: "POST",
    path: "/user/personal_access_tokens",
    summary:
      "Create a personal access token for oneself: with any scope by session, by token k8s_proxy and self_rotate",
    access: signedIn(),
    params: NewOwnToken,
    returns: NewToken,
    audit: "personal_access_token_created",
    idempotent: { replayFor: findRotated },
    handle({ actor, params, ...context }) {
      refuseScopesByToken(actor, params.scopes);
      return handleCreate(context, { ...params, userId: actor.user.id });
    },
  }),

  rotateSelf: endpoint({
    method: "POST",
    path: "/personal_access_tokens/self/rotate",
    summary: "Rotate the token that the request is made with",
    access: rotating(["self_rotate"]),
    params: RotateToken,
    returns: NewToken,
    status: 200,
    audit: "personal_access_token_rotated",
    idempotent: { replayFor: findRotated },
    handle: async ({ actor, params, ...context }) => handleRotate(context, await ownToken(context.tx, actor), params),
  }),

  rotate: endpoint({
    method: "POST",
    path: "/personal_access_tokens/:id/rotate",
    summary: "Rotate a personal access token",
    access: rotating(),
    params: Type.Object({ ...TokenId.properties, ...RotateToken.properties }),
    returns: NewToken,
    status: 200,
    audit: "personal_access_token_rotated",
    idempotent: { replayFor: findRotated },
    handle: async ({ actor, params, ...context }) =>
      handleRotate(context, await visibleToken(context.tx, actor, params.id), params),
  }),

  revokeSelf: endpoint({
    method: "DELETE",
    path: "/personal_access_tokens/self",
    summary: "Revoke the token that the request is made with",
    access: withAnyScope,
    params: Self,
    audit: "personal_access_token_revoked",
    conditional: true,
    handle: async ({ actor, ...context }) => handleRevoke(context, await ownToken(context.tx, actor)),
  }),

  revoke: endpoint({
    method: "DELETE",
    path: "/personal_access_tokens/:id",
    summary: "Revoke a personal access token",
    access: signedIn(),
    params: TokenId,
    audit: "personal_access_token_revoked",
    conditional: true,
    handle: async ({ actor, params, ...context }) =>
      handleRevoke(context, await visibleToken(context.tx, actor, params.id)),
  }),
};

const SCOPES_BY_TOKEN: readonly Scope[] = ["k8s_proxy", "self_rotate"];

/** A token that could create its like would let a thief outlive its expiry and its revocation. */
function refuseScopesByToken({ kind }: Actor, scopes: readonly Scope[]) {
  if (kind === "user by session" || scopes.every((scope) => SCOPES_BY_TOKEN.includes(scope))) return;
  throw badParameter("scopes does not have a valid value");
}

/** The token of the request; with sudo it belongs to the administrator, so there is no `self`. */
async function ownToken(db: Db, actor: Actor) {
  if (actor.sudoer) throw badRequest("`self` is the administrator's own token and cannot be used with sudo");
  if (actor.kind !== "user by token") throw badRequest("`self` is a token, and this request is made by a session");
  const token = await tokensOf(db, actor.user.id).where("t.id", "=", actor.token.id).executeTakeFirst();
  if (!token) throw missing("Personal Access Token");
  return token;
}

/** A token of the caller, or for administrators of any user; another user's token is answered like a missing one. */
async function visibleToken(db: Db, actor: Actor, id: number) {
  const token = await tokensOf(db, isAdministrator(actor) ? undefined : actor.user.id)
    .where("t.id", "=", id)
    .executeTakeFirst();
  if (!token) throw missing("Personal Access Token");
  return token;
}
