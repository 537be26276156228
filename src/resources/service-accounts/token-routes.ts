import Type, { type Static } from "typebox";
import type { Actor } from "#access/actor.ts";
import type { GroupSeen } from "#access/containers.ts";
import { endpoint, type Writing } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { GroupId } from "#resources/groups/params.ts";
import { revokeTokensOf } from "#resources/tokens/actions.ts";
import { NewToken, presentToken, Token } from "#resources/tokens/entity.ts";
import { endFamily } from "#resources/tokens/family.ts";
import { listTokensOf } from "#resources/tokens/list.ts";
import { NewTokenOfUser, RotateToken, TokenFilters } from "#resources/tokens/params.ts";
import { created, revoked, rotated } from "#resources/tokens/writes.ts";
import { accountIn, heldAccount, managers, tokenOf } from "./access.ts";
import { AccountId, AccountTokenId } from "./params.ts";

const NewAccountToken = Type.Object({ ...GroupId.properties, ...NewTokenOfUser.properties });

const newToken = {
  method: "POST",
  access: managers,
  plan: "premium",
  params: NewAccountToken,
  returns: NewToken,
  audit: "personal_access_token_created",
  keepsAnswer: true,
  handle: makeToken,
} as const;

export const groupServiceAccountTokens = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/service_accounts/:user_id/personal_access_tokens",
    summary: "List the tokens of a service account",
    access: managers,
    plan: "premium",
    params: Type.Object({ ...AccountId.properties, ...TokenFilters.properties }),
    returns: pageOf(Token, { id: "t.id" }),
    async handle({ db, group, params, page }) {
      const account = await accountIn(db, group, params.user_id);
      const { query, options } = listTokensOf(db, account.id, params);
      return page(query, presentToken, options);
    },
  }),

  create: endpoint({
    path: "/groups/:id/service_accounts/:user_id/personal_access_tokens",
    summary: "Create a token of a service account",
    ...newToken,
  }),

  // A widely used client asks for it here.
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
    plan: "premium",
    params: AccountTokenId,
    audit: "personal_access_token_revoked",
    async handle({ actor, group, params, ...writing }) {
      const account = await heldAccount(writing.tx, actor, group, params.user_id);
      await revoked(inLogOf(group, writing), await tokenOf(writing.tx, account, params.token_id));
    },
  }),

  rotate: endpoint({
    method: "POST",
    path: "/groups/:id/service_accounts/:user_id/personal_access_tokens/:token_id/rotate",
    summary: "Replace all tokens of a service account by a new one",
    access: { ...managers, onRevokedToken: endFamily },
    plan: "premium",
    params: Type.Object({ ...AccountTokenId.properties, ...RotateToken.properties }),
    returns: NewToken,
    status: 200,
    audit: "personal_access_token_rotated",
    keepsAnswer: true,
    async handle({ actor, group, params, ...writing }) {
      const account = await heldAccount(writing.tx, actor, group, params.user_id);
      const token = await tokenOf(writing.tx, account, params.token_id);
      const successor = await rotated(inLogOf(group, writing), token, params);
      await revokeTokensOf(writing.tx, account.id, { but: [token.id, successor.id] });
      return successor;
    },
  }),
};

interface Asked extends Writing {
  readonly actor: Actor;
  readonly group: GroupSeen;
  readonly params: Static<typeof NewAccountToken>;
}

async function makeToken({ actor, group, params, ...writing }: Asked) {
  const account = await heldAccount(writing.tx, actor, group, params.user_id);
  return created(inLogOf(group, writing), { ...params, userId: account.id });
}

/** The group's own audit log shows what is done with its accounts. */
const inLogOf = ({ id }: GroupSeen, writing: Writing): Writing => ({
  ...writing,
  audit: (target) => writing.audit({ ...target, entity: { type: "Group", id } }),
});
