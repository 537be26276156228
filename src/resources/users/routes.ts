import Type from "typebox";
import { administrator, anyone, signedIn } from "#access/access.ts";
import { type Actor, isAdministrator } from "#access/actor.ts";
import type { Db } from "#db/database.ts";
import { endpoint, plain, type Writing } from "#http/endpoint.ts";
import { FARTHEST } from "#http/hits.ts";
import { pageOf } from "#http/paging.ts";
import { forbidden, missing } from "#lib/refusal.ts";
import { avatarNamed } from "#resources/avatars/images.ts";
import { isFollowing } from "#resources/follows/queries.ts";
import { mailTo } from "#resources/mails/send.ts";
import { endWhatOldOpened } from "#resources/sessions/password.ts";
import type { Services } from "#services.ts";
import { hidesUser, isOpenTo, ownAccount } from "./access.ts";
import { chosenPassword, createUser, updateUser } from "./actions.ts";
import { defaultAvatar } from "./avatar.ts";
import { AdminUser, CurrentUser, UserProfile, UserSummary } from "./entity.ts";
import { adminViews } from "./full.ts";
import { bestMatchFirst, byName, listUsers, type Viewer } from "./list.ts";
import { namedUser, targetOf } from "./named.ts";
import { ownSettings } from "./own-routes.ts";
import { userMemberships } from "./membership-routes.ts";
import { userModeration } from "./moderation-routes.ts";
import { NewUser, UserChanges, UserFilters, UserId } from "./params.ts";
import { presentCurrentUser, presentProfile, presentSummary } from "./present.ts";
import { identitiesOf } from "./queries.ts";
import { readSearch } from "./search.ts";

const scopes = ["read_user"] as const;

export const users = {
  list: endpoint({
    method: "GET",
    path: "/users",
    summary: "List users",
    access: anyone({ scopes }),
    params: UserFilters,
    returns: pageOf(Type.Union([AdminUser, UserSummary]), {
      id: "u.id",
      orders: {
        id: "u.id",
        name: "u.name",
        username: "u.username",
        created_at: "u.created_at",
        updated_at: "u.updated_at",
      },
      keyset: ["id", "name", "username", "created_at", "updated_at"],
      sort: "desc",
      offsetLimit: { rows: 50_000, type: "User" },
    }),
    async handle({ db, actor, params, page, services, site }) {
      const viewer = viewerOf(actor, services);
      if (viewer === "anonymous") await refuseAnonymousListing(services, params.username);
      if (viewer !== "administrator" && params.extern_uid !== undefined) throw forbidden();
      const search = params.search?.trim() ? readSearch(params.search, viewer === "administrator") : undefined;
      const { query, everyone, total } = await listUsers(db, params, viewer, search);
      const options = {
        unfiltered: everyone,
        ...(total !== undefined && { total }),
        ...(total === Infinity && { offsetLimit: FARTHEST }),
        // The best matches come first, unless there are too many to be sorted.
        ...(search && { unasked: total === Infinity ? byName : bestMatchFirst(search) }),
      };
      if (viewer !== "administrator") return page(query, presentSummary(site), options);
      const rows = await page.rows(query, options);
      const ids = rows.map(({ id }) => id);
      const customAttributes = params.with_custom_attributes === true;
      return adminViews(db, ids, { services, site, customAttributes, viewerId: actor?.user.id ?? 0 });
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/users/:id",
    summary: "Get a user",
    access: signedIn({ scopes }),
    params: Type.Object({ ...UserId.properties, with_custom_attributes: Type.Optional(Type.Boolean()) }),
    returns: Type.Union([AdminUser, UserProfile]),
    async handle({ db, databases, actor, params, services, site }) {
      const viewerId = actor.user.id;
      if (isAdministrator(actor)) {
        const customAttributes = params.with_custom_attributes === true;
        return adminView(db, params.id, { services, site, customAttributes, viewerId });
      }
      const user = await namedUser(databases, params.id);
      const view = { site, now: services.now() };
      if (!isOpenTo(actor, user)) return presentProfile(user, view, undefined);
      const isFollowed = user.followers_count > 0 && (await isFollowing(databases, viewerId, user.id));
      return presentProfile(user, view, { isFollowed });
    },
  }),

  current: endpoint({
    method: "GET",
    path: "/user",
    summary: "Get the calling user",
    access: ownAccount(),
    params: Type.Object({}),
    returns: Type.Union([AdminUser, CurrentUser]),
    async handle({ db, user, identities, services, site }) {
      if (user.admin) return adminView(db, user.id, { services, site, customAttributes: false, viewerId: user.id });
      return presentCurrentUser(user, identities ?? (await identitiesOf(db, [user.id])), { site, now: services.now() });
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/users",
    summary: "Create a user",
    access: administrator(),
    params: NewUser,
    returns: AdminUser,
    audit: "user_created",
    camelCase: true,
    prepare: ({ params, services }) => hashed(services, chosenPassword(params)),
    async handle({ tx, actor, params, services, site, audit, passwordDigest }) {
      const settings = await services.settings.current();
      const id = await createUser(tx, params, {
        settings,
        blobs: services.blobs,
        passwordDigest,
        actorId: actor.user.id,
      });
      const view = await adminView(tx, id, { services, site, customAttributes: false, viewerId: actor.user.id });
      if (params.reset_password) await mailTo(services.jobs, tx, { kind: "reset_password", userId: id });
      if (view.confirmed_at === null)
        await mailTo(services.jobs, tx, { kind: "confirm_email", userId: id, email: view.email });
      audit({ ...targetOf(view), details: { admin: params.admin === true } });
      return view;
    },
  }),

  update: endpoint({
    method: "PUT",
    path: "/users/:id",
    summary: "Change a user",
    access: administrator(),
    params: UserChanges,
    returns: AdminUser,
    audit: "user_updated",
    camelCase: true,
    prepare: ({ params, services }) => hashed(services, params.password),
    async handle({ tx, actor, params, services, site, audit, passwordDigest }) {
      const settings = await services.settings.current();
      const writing = { settings, blobs: services.blobs, passwordDigest, actorId: actor.user.id };
      const changed = await updateUser(tx, params, writing);
      const around = { services, site, customAttributes: false, viewerId: actor.user.id };
      const view = await adminView(tx, params.id, around);
      await tellOfChanges({ tx, services }, view, changed, passwordDigest !== undefined);
      audit({ ...targetOf(view), details: { changed } });
      return view;
    },
  }),

  avatar: endpoint({
    method: "GET",
    mount: "root",
    path: "/uploads/-/system/user/avatar/:id/:file",
    summary: "Get the avatar of a user",
    access: anyone({ scopes }),
    params: Type.Object({ ...UserId.properties, file: Type.String({ maxLength: 255 }) }),
    returns: plain("image/*"),
    async handle({ db, actor, params, services, setHeader }) {
      setHeader("cache-control", "private, max-age=300");
      if (await hidesUser(actor, services.settings, params.id)) {
        setHeader("content-type", "image/svg+xml");
        return defaultAvatar(0, "");
      }
      const user = await db
        .selectFrom("users")
        .select(["name", "avatar_file", "avatar_blob"])
        .where("id", "=", params.id)
        .executeTakeFirst();
      if (user && params.file === "default.svg") {
        setHeader("content-type", "image/svg+xml");
        return defaultAvatar(params.id, user.name);
      }
      const { bytes, type } = await avatarNamed(params.file, user, services.blobs);
      setHeader("content-type", type);
      return bytes;
    },
  }),

  ...ownSettings,
  ...userMemberships,
  ...userModeration,
};

const hashed = async ({ passwords }: Services, password: string | undefined) => ({
  passwordDigest: password === undefined ? undefined : await passwords.hash(password),
});

/** On the hosted offering administrators see users as everybody does. */
function viewerOf(actor: Actor | null, { config }: Services): Viewer {
  if (!actor) return "anonymous";
  return actor.user.admin && config.offering !== "hosted" ? "administrator" : "user";
}

async function refuseAnonymousListing({ settings }: Services, username: string | undefined) {
  const { anonymous_user_listing: allowed } = await settings.current();
  if (allowed === "off" || (allowed === "username" && !username)) {
    throw forbidden("Not authorized to access /api/v4/users");
  }
}

/** A password that somebody else chose ends what was opened with the old one. */
async function tellOfChanges(
  { tx, services: { jobs } }: Pick<Writing, "tx" | "services">,
  { id, unconfirmed_email: email }: AdminUser,
  changed: readonly string[],
  newPassword: boolean,
) {
  if (email !== undefined && changed.includes("unconfirmed_email"))
    await mailTo(jobs, tx, { kind: "confirm_email", userId: id, email });
  if (newPassword) await endWhatOldOpened(tx, jobs, id);
}

async function adminView(db: Db, id: number, around: Parameters<typeof adminViews>[2]) {
  const [view] = await adminViews(db, [id], around);
  if (!view) throw missing("User");
  return view;
}
