import Type from "typebox";
import { administrator, signedIn } from "#access/access.ts";
import { type Actor, isAdministrator } from "#access/actor.ts";
import { SCOPES } from "#access/scopes.ts";
import type { Db } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Id } from "#http/params/vocabulary.ts";
import { badRequest, forbidden, missing } from "#lib/refusal.ts";
import { NewToken, presentToken, Token } from "./entity.ts";
import { endFamily } from "./family.ts";
import { listAllTokens, listTokensOf } from "./list.ts";
import { NewOwnToken, NewTokenOfUser, RotateToken, TokenFilters, TokenId } from "./params.ts";
import { tokensOf } from "./queries.ts";
import { created, revoked, rotated } from "./writes.ts";

/** A token may always look at itself and end itself, whatever else it may do. */
const withAnyScope = signedIn({ scopes: SCOPES });
const rotates = (scopes: readonly "self_rotate"[] = []) => ({ ...signedIn({ scopes }), onRevokedToken: endFamily });

const Self = Type.Object({});

export const personalAccessTokens = {
  list: endpoint({
    method: "GET",
    path: "/personal_access_tokens",
    summary: "List personal access tokens",
    access: signedIn(),
    params: Type.Object({ user_id: Type.Optional(Id), ...TokenFilters.properties }),
    returns: pageOf(Token, {
      ...{ id: "t.id", sort: "desc", keyset: ["id"] },
      offsetLimit: { rows: 50_000, type: "PersonalAccessToken" },
    }),
    async handle({ databases, actor, params, page }) {
      const ownOnly = !isAdministrator(actor);
      if (ownOnly && params.user_id !== undefined && params.user_id !== actor.user.id) throw forbidden();
      const userId = ownOnly ? actor.user.id : params.user_id;
      const { query, options } =
        userId === undefined ? await listAllTokens(databases, params) : listTokensOf(databases.read, userId, params);
      return page(query, presentToken, options);
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
    keepsAnswer: true,
    handle: ({ params, ...writing }) => created(writing, { ...params, userId: params.user_id }),
  }),

  createOwn: endpoint({
    method: "POST",
    path: "/user/personal_access_tokens",
    summary: "Create a personal access token for oneself",
    access: signedIn(),
    params: NewOwnToken,
    returns: NewToken,
    audit: "personal_access_token_created",
    keepsAnswer: true,
    handle: ({ actor, params, ...writing }) => created(writing, { ...params, userId: actor.user.id }),
  }),

  rotateSelf: endpoint({
    method: "POST",
    path: "/personal_access_tokens/self/rotate",
    summary: "Replace the token that the request is made with by a new one",
    access: rotates(["self_rotate"]),
    params: RotateToken,
    returns: NewToken,
    status: 200,
    audit: "personal_access_token_rotated",
    keepsAnswer: true,
    handle: async ({ actor, params, ...writing }) => rotated(writing, await ownToken(writing.tx, actor), params),
  }),

  rotate: endpoint({
    method: "POST",
    path: "/personal_access_tokens/:id/rotate",
    summary: "Replace a personal access token by a new one",
    access: rotates(),
    params: Type.Object({ ...TokenId.properties, ...RotateToken.properties }),
    returns: NewToken,
    status: 200,
    audit: "personal_access_token_rotated",
    keepsAnswer: true,
    handle: async ({ actor, params, ...writing }) =>
      rotated(writing, await visibleToken(writing.tx, actor, params.id), params),
  }),

  revokeSelf: endpoint({
    method: "DELETE",
    path: "/personal_access_tokens/self",
    summary: "Revoke the token that the request is made with",
    access: withAnyScope,
    params: Self,
    audit: "personal_access_token_revoked",
    handle: async ({ actor, ...writing }) => revoked(writing, await ownToken(writing.tx, actor)),
  }),

  revoke: endpoint({
    method: "DELETE",
    path: "/personal_access_tokens/:id",
    summary: "Revoke a personal access token",
    access: signedIn(),
    params: TokenId,
    audit: "personal_access_token_revoked",
    handle: async ({ actor, params, ...writing }) => revoked(writing, await visibleToken(writing.tx, actor, params.id)),
  }),
};

/** The token of the request itself; through sudo it is another user's, so there is no "self". */
async function ownToken(db: Db, actor: Actor) {
  if (actor.sudoer) throw badRequest("`self` is the administrator's own token and cannot be used with sudo");
  if (actor.kind !== "user by token") throw badRequest("`self` is a token, and this request is made by a session");
  const token = await tokensOf(db, actor.user.id).where("t.id", "=", actor.token.id).executeTakeFirst();
  if (!token) throw missing("Personal Access Token");
  return token;
}

/** One's own token, or for administrators anybody's; a foreign one is as if it were not there. */
async function visibleToken(db: Db, actor: Actor, id: number) {
  const token = await tokensOf(db, isAdministrator(actor) ? undefined : actor.user.id)
    .where("t.id", "=", id)
    .executeTakeFirst();
  if (!token) throw missing("Personal Access Token");
  return token;
}
