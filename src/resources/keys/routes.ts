import Type, { type Static } from "typebox";
import { administrator, anyone, signedIn } from "#access/access.ts";
import type { Actor } from "#access/actor.ts";
import { CLOSED_STATES } from "#access/user-kinds.ts";
import type { Databases, Db } from "#db/database.ts";
import type { Settings } from "#db/settings.ts";
import { endpoint, type Writing } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Id } from "#http/params/vocabulary.ts";
import { missing } from "#lib/refusal.ts";
import { refuseHiddenUser } from "#resources/users/access.ts";
import { userByIdOrName } from "#resources/users/named.ts";
import { presentCurrentUser } from "#resources/users/present.ts";
import { account, identitiesOf } from "#resources/users/queries.ts";
import type { Services } from "#services.ts";
import { addKey, removeKey } from "./actions.ts";
import { Key, KeyWithUser, presentKey, presentLink, presentPublished, PublishedKey } from "./entity.ts";
import { Fingerprint, KeyId, KeyOfUser, NamedUser, NewKey, NewKeyOfUser } from "./params.ts";
import { allKeys, keyByFingerprint, type KeyRow, keysOf, linksOf } from "./queries.ts";

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
    handle: async ({ db, actor, params }) => presentKey(await foundKey(db, actor.user.id, params.key_id)),
  }),

  createOwn: endpoint({
    method: "POST",
    path: "/user/keys",
    summary: "Add an SSH key to one's own account",
    access: signedIn(),
    params: NewKey,
    returns: Key,
    audit: "key_added",
    handle: ({ actor, ...writing }) => added(writing, actor.user.id),
  }),

  deleteOwn: endpoint({
    method: "DELETE",
    path: "/user/keys/:key_id",
    summary: "Delete one of one's own SSH keys",
    access: signedIn(),
    params: KeyId,
    audit: "key_removed",
    handle: ({ actor, params, ...writing }) => removed(writing, actor.user.id, params.key_id),
  }),

  listOfUser: endpoint({
    method: "GET",
    path: "/users/:id/keys",
    summary: "List the SSH keys of a user",
    access: anyone({ scopes }),
    params: NamedUser,
    returns: pageOf(PublishedKey, order),
    async handle({ db, databases, actor, params, page, site, services }) {
      const user = await seenUser(databases, services.settings, actor, params.id);
      return page(keysOf(db, user.id), presentPublished(user.name, site));
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
      const user = await seenUser(databases, services.settings, actor, String(params.id));
      return presentPublished(user.name, site)(await foundKey(db, user.id, params.key_id));
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
    handle: (writing) => added(writing, writing.params.id),
  }),

  deleteOfUser: endpoint({
    method: "DELETE",
    path: "/users/:id/keys/:key_id",
    summary: "Delete an SSH key of a user",
    access: administrator(),
    params: KeyOfUser,
    audit: "key_removed",
    handle: ({ params, ...writing }) => removed(writing, params.id, params.key_id),
  }),

  find: endpoint({
    method: "GET",
    path: "/keys",
    summary: "Find an SSH key and its user by its fingerprint",
    access: administrator(),
    params: Fingerprint,
    returns: KeyWithUser,
    handle: async ({ db, params, ...around }) =>
      withUser(around, await keyByFingerprint(db, params.fingerprint, around.services.config.fips)),
  }),

  get: endpoint({
    method: "GET",
    path: "/keys/:id",
    summary: "Get an SSH key and its user",
    access: administrator(),
    params: Type.Object({ id: Id }),
    returns: KeyWithUser,
    handle: async ({ db, params, ...around }) =>
      withUser(around, await allKeys(db).where("k.id", "=", params.id).executeTakeFirst()),
  }),
};

const nameOf = ({ id, title, user_id }: Pick<KeyRow, "id" | "title" | "user_id">) =>
  ({ type: "Key", id, name: title, entity: { type: "User", id: user_id } }) as const;

/** What adding a key hands on to what does it. */
type Adding = Writing & { readonly params: Static<typeof NewKey> };

async function added({ tx, params, services, audit }: Adding, userId: number) {
  const { fingerprint, ...key } = await addKey(tx, userId, params, services.config.fips);
  audit({ ...nameOf(key), details: { fingerprint, usage_type: key.usage_type, expires_at: key.expires_at } });
  return presentKey(key);
}

async function removed({ tx, audit }: Pick<Writing, "tx" | "audit">, userId: number, id: number) {
  audit(nameOf(await removeKey(tx, userId, id)));
}

async function foundKey(db: Db, userId: number, id: number) {
  const key = await keysOf(db, userId).where("k.id", "=", id).executeTakeFirst();
  if (!key) throw missing("Key");
  return key;
}

/** Closed accounts are hidden from callers who are not signed in. */
async function seenUser(databases: Databases, settings: Settings, actor: Actor | null, idOrName: string) {
  await refuseHiddenUser(actor, settings, idOrName);
  const user = await userByIdOrName(databases, idOrName);
  if (!actor && CLOSED_STATES.includes(user.state)) throw missing("User");
  return user;
}

interface Around {
  readonly databases: Databases;
  readonly services: Services;
  readonly site: string;
}

async function withUser({ databases, services, site }: Around, key: KeyRow | undefined) {
  const user = key && (await account(databases, key.user_id));
  // A deploy key outlives whoever added it, of whom nothing is told while they are being removed.
  if (!key || (!user && key.kind === "user")) throw missing("Key");
  const identities = user ? await identitiesOf(databases.read, [user.id]) : [];
  return {
    ...presentKey(key),
    user: user ? presentCurrentUser(user, identities, { site, now: services.now() }) : null,
    ...(key.kind === "deploy" && { deploy_keys_projects: (await linksOf(databases.read, key.id)).map(presentLink) }),
  };
}
