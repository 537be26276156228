import Type, { type Static } from "typebox";
import { administrator, anyone, signedIn } from "#access/access.ts";
import type { Actor } from "#access/principal.ts";
import { CLOSED_STATES } from "#access/user-kinds.ts";
import type { Databases, Db } from "#db/database.ts";
import type { Settings } from "#db/settings.ts";
import { type Conditional, endpoint, type WriteContext } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Id } from "#http/params/vocabulary.ts";
import { missing } from "#lib/refusal.ts";
import { refuseHiddenUser } from "#domains/identity/users/access.ts";
import { userByIdOrName } from "#domains/identity/users/named.ts";
import { presentCurrentUser, viewAt } from "#domains/identity/users/present.ts";
import { findAccount, identitiesOf } from "#domains/identity/users/queries.ts";
import type { Services } from "#services.ts";
import { addKey, removeKey } from "./actions.ts";
import { Key, KeyWithUser, presentKey, presentLink, presentPublishedKey, PublishedKey } from "./entity.ts";
import { Fingerprint, KeyId, KeyOfUser, NewKey, NewKeyOfUser, UserIdOrName } from "./params.ts";
import { allKeys, deployKeyLinks, keyByFingerprint, type KeyRow, keysOf } from "./queries.ts";

const scopes = ["read_user"] as const;
const order = { id: "k.id" };

export const keys = {
  listOwn: endpoint({
    method: "GET",
    path: "/user/keys",
    summary: "List one's own SSH keys",
    access: signedIn({ scopes }),
    params: Type.Object({}),
    returns: pageOf(Key, order),
    handle: ({ db, actor, page }) => page(keysOf(db, actor.user.id), presentKey),
  }),

  getOwn: endpoint({
    method: "GET",
    path: "/user/keys/:key_id",
    summary: "Get one of one's own SSH keys",
    access: signedIn({ scopes }),
    params: KeyId,
    returns: Key,
    handle: async ({ db, actor, params }) => presentKey(await keyOfUser(db, actor.user.id, params.key_id)),
  }),

  createOwn: endpoint({
    method: "POST",
    path: "/user/keys",
    summary: "Add an SSH key to one's own account",
    access: signedIn(),
    params: NewKey,
    returns: Key,
    audit: "key_added",
    handle: ({ actor, ...context }) => handleAdd(context, actor.user.id),
  }),

  deleteOwn: endpoint({
    method: "DELETE",
    path: "/user/keys/:key_id",
    summary: "Delete one of one's own SSH keys",
    access: signedIn(),
    params: KeyId,
    audit: "key_removed",
    conditional: true,
    handle: ({ actor, params, ...context }) => handleRemove(context, actor.user.id, params.key_id),
  }),

  listOfUser: endpoint({
    method: "GET",
    path: "/users/:id/keys",
    summary: "List the SSH keys of a user",
    access: anyone({ scopes }),
    params: UserIdOrName,
    returns: pageOf(PublishedKey, order),
    async handle({ db, databases, actor, params, page, site, services }) {
      const user = await visibleUser(databases, services.settings, actor, params.id);
      return page(keysOf(db, user.id), presentPublishedKey(user.name, site));
    },
  }),

  getOfUser: endpoint({
    method: "GET",
    path: "/users/:id/keys/:key_id",
    summary: "Get an SSH key of a user",
    access: anyone({ scopes }),
    params: KeyOfUser,
    returns: PublishedKey,
    async handle({ db, databases, actor, params, site, services }) {
      const user = await visibleUser(databases, services.settings, actor, String(params.id));
      return presentPublishedKey(user.name, site)(await keyOfUser(db, user.id, params.key_id));
    },
  }),

  createForUser: endpoint({
    method: "POST",
    path: "/users/:id/keys",
    summary: "Add an SSH key to the account of a user",
    access: administrator(),
    params: NewKeyOfUser,
    returns: Key,
    audit: "key_added",
    handle: (context) => handleAdd(context, context.params.id),
  }),

  deleteOfUser: endpoint({
    method: "DELETE",
    path: "/users/:id/keys/:key_id",
    summary: "Delete an SSH key of a user",
    access: administrator(),
    params: KeyOfUser,
    audit: "key_removed",
    conditional: true,
    handle: ({ params, ...context }) => handleRemove(context, params.id, params.key_id),
  }),

  find: endpoint({
    method: "GET",
    path: "/keys",
    summary: "Find an SSH key and its user by its fingerprint",
    access: administrator(),
    params: Fingerprint,
    returns: KeyWithUser,
    handle: async ({ db, params, ...context }) =>
      presentKeyWithUser(context, await keyByFingerprint(db, params.fingerprint, context.services.config.fips)),
  }),

  get: endpoint({
    method: "GET",
    path: "/keys/:id",
    summary: "Get an SSH key and its user",
    access: administrator(),
    params: Type.Object({ id: Id }),
    returns: KeyWithUser,
    handle: async ({ db, params, ...context }) =>
      presentKeyWithUser(context, await allKeys(db).where("k.id", "=", params.id).executeTakeFirst()),
  }),
};

const targetOf = ({ id, title, user_id }: Pick<KeyRow, "id" | "title" | "user_id">) =>
  ({ type: "Key", id, name: title, entity: { type: "User", id: user_id } }) as const;

type AddContext = WriteContext & { readonly params: Static<typeof NewKey> };

async function handleAdd({ tx, params, services, audit }: AddContext, userId: number) {
  const { fingerprint, ...key } = await addKey(tx, userId, params, services.config.fips);
  audit({ ...targetOf(key), details: { fingerprint, usage_type: key.usage_type, expires_at: key.expires_at } });
  return presentKey(key);
}

async function handleRemove({ tx, audit, unlessModified }: WriteContext & Conditional, userId: number, id: number) {
  const key = await removeKey(tx, userId, id);
  unlessModified(key.updated_at);
  audit(targetOf(key));
}

async function keyOfUser(db: Db, userId: number, id: number) {
  const key = await keysOf(db, userId).where("k.id", "=", id).executeTakeFirst();
  if (!key) throw missing("Key");
  return key;
}

/** Closed accounts are hidden from callers who are not signed in. */
async function visibleUser(databases: Databases, settings: Settings, actor: Actor | null, idOrName: string) {
  await refuseHiddenUser(actor, settings, idOrName);
  const user = await userByIdOrName(databases, idOrName);
  if (!actor && CLOSED_STATES.includes(user.state)) throw missing("User");
  return user;
}

interface PresentContext {
  readonly databases: Databases;
  readonly services: Services;
  readonly site: string;
}

async function presentKeyWithUser({ databases, services, site }: PresentContext, key: KeyRow | undefined) {
  const user = key && (await findAccount(databases, key.user_id));
  // A deploy key outlives the user who added it; a user who is being deleted is not shown.
  if (!key || (!user && key.kind === "user")) throw missing("Key");
  const identities = user ? await identitiesOf(databases.read, [user.id]) : [];
  return {
    ...presentKey(key),
    user: user ? presentCurrentUser(user, identities, viewAt(site, services)) : null,
    ...(key.kind === "deploy" && {
      deploy_keys_projects: (await deployKeyLinks(databases.read, key.id)).map(presentLink),
    }),
  };
}
