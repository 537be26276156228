import Type, { type Static } from "typebox";
import type { Actor } from "#access/principal.ts";
import type { GroupSeen } from "#access/containers.ts";
import { endpoint, type WriteContext } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { GroupId } from "#domains/organization/groups/params.ts";
import { revokeTokensOf } from "#domains/identity/credentials/actions.ts";
import { NewToken, presentToken, Token } from "#domains/identity/tokens/entity.ts";
import { revokeFamily } from "#domains/identity/tokens/family.ts";
import { listTokens } from "#domains/identity/tokens/list.ts";
import { NewTokenOfUser, RotateToken, TokenFilters } from "#domains/identity/tokens/params.ts";
import { tokensOf } from "#domains/identity/tokens/queries.ts";
import { findRotated } from "#domains/identity/tokens/replay.ts";
import { handleCreate, handleRevoke, handleRotate } from "#domains/identity/tokens/handlers.ts";
import { accountIn, lockedAccount, managers, tokenOf } from "./access.ts";
import { AccountId, AccountTokenId } from "./params.ts";

const NewAccountToken = Type.Object({ ...GroupId.properties, ...NewTokenOfUser.properties });

const newToken = {
  method: "POST",
  access: managers,
  params: NewAccountToken,
  returns: NewToken,
  audit: "personal_access_token_created",
  idempotent: { replayFor: findRotated },
  handle: makeToken,
} as const;

export const groupServiceAccountTokens = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/service_accounts/:user_id/personal_access_tokens",
    summary: "List the tokens of a service account",
    access: managers,
    params: Type.Object({ ...AccountId.properties, ...TokenFilters.properties }),
    returns: pageOf(Token, { id: "t.id" }),
    async handle({ db, group, params, page }) {
      const account = await accountIn(db, group, params.user_id);
      return page(tokensOf(db, undefined), presentToken, listTokens(account.id, params));
    },
  }),

  create: endpoint({
    path: "/groups/:id/service_accounts/:user_id/personal_access_tokens",
    summary: "Create a token of a service account",
    ...newToken,
  }),

  // A widely used client sends the request to this path.
  createByShortPath: endpoint({
    path: "/groups/:id/service_accounts/:user_id",
    summary: "Create a token of a service account, by a shorter path",
    ...newToken,
  }),

  revoke: endpoint({
    method: "DELETE",
    path: "/groups/:id/service_accounts/:user_id/personal_access_tokens/:token_id",
    summary: "Revoke a token of a service account",
    access: managers,
    params: AccountTokenId,
    audit: "personal_access_token_revoked",
    conditional: true,
    async handle({ actor, group, params, unlessModified, ...context }) {
      const account = await lockedAccount(context.tx, actor, group, params.user_id);
      const token = await tokenOf(context.tx, account, params.token_id);
      await handleRevoke({ ...inLogOf(group, context), unlessModified }, token);
    },
  }),

  rotate: endpoint({
    method: "POST",
    path: "/groups/:id/service_accounts/:user_id/personal_access_tokens/:token_id/rotate",
    summary: "Replace all tokens of a service account by a new one",
    access: { ...managers, onRevokedToken: revokeFamily },
    params: Type.Object({ ...AccountTokenId.properties, ...RotateToken.properties }),
    returns: NewToken,
    status: 200,
    audit: "personal_access_token_rotated",
    idempotent: { replayFor: findRotated },
    async handle({ actor, group, params, ...context }) {
      const account = await lockedAccount(context.tx, actor, group, params.user_id);
      const token = await tokenOf(context.tx, account, params.token_id);
      const successor = await handleRotate(inLogOf(group, context), token, params);
      await revokeTokensOf(context.tx, account.id, { except: [token.id, successor.id] });
      return successor;
    },
  }),
};

interface NewTokenRequest extends WriteContext {
  readonly actor: Actor;
  readonly group: GroupSeen;
  readonly params: Static<typeof NewAccountToken>;
}

async function makeToken({ actor, group, params, ...context }: NewTokenRequest) {
  const account = await lockedAccount(context.tx, actor, group, params.user_id);
  return handleCreate(inLogOf(group, context), { ...params, userId: account.id });
}

/** Records events about the group's accounts in the audit log of the group. */
const inLogOf = ({ id }: GroupSeen, context: WriteContext): WriteContext => ({
  ...context,
  audit: (target) => context.audit({ ...target, entity: { type: "Group", id } }),
});
