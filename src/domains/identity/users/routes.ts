import Type from "typebox";
import { administrator, anyone, signedIn } from "#access/access.ts";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { needsAdministrator } from "#access/roles.ts";
import { endpoint, plain, type WriteContext } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Flag } from "#http/params/vocabulary.ts";
import { forbidden } from "#lib/refusal.ts";
import { avatarNamed } from "#domains/foundation/avatars/images.ts";
import { isFollowing } from "./following.ts";
import { startInvitation } from "#domains/foundation/mails/invitations.ts";
import { mailTo } from "#domains/foundation/mails/send.ts";
import { invalidateCredentials } from "#domains/identity/credentials/actions.ts";
import type { Services } from "#services.ts";
import { canSeeProfile, hidesUser } from "./access.ts";
import { chosenPassword, createUser, updateUser } from "./actions.ts";
import { adminView, adminViews } from "./admin-view.ts";
import { defaultAvatar } from "./avatar.ts";
import { AdminUser, UserProfile, UserSummary } from "./entity.ts";
import { removeIdentities, withinPlan } from "./identities.ts";
import { listUsers, ORDERS, type Viewer } from "./list.ts";
import { lockedUser, targetOf, userById } from "./named.ts";
import { NewUser, UserChanges, UserFilters, UserId } from "./params.ts";
import { presentProfile, presentSummary, viewAt } from "./present.ts";
import { userSummaries } from "./queries.ts";
import { parseSearch } from "./search.ts";
import { beginRemoval } from "./user-deletion.ts";

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
      orders: ORDERS,
      keyset: ["id", "name", "username", "created_at", "updated_at"],
      sort: "desc",
      type: "User",
    }),
    async handle({ db, actor, params: given, page, services, site, ignored }) {
      const params = withinPlan({ params: given, services, ignored });
      const viewer = viewerOf(actor, services);
      if (viewer === "anonymous") await refuseAnonymousListing(services, params.username);
      if (viewer !== "administrator" && params.extern_uid !== undefined) throw needsAdministrator();
      const search = params.search?.trim() ? parseSearch(params.search, viewer === "administrator") : undefined;
      const listing = listUsers(params, viewer, search);
      if (viewer !== "administrator") return page(userSummaries(db), presentSummary(site), listing);
      const rows = await page.rows(userSummaries(db), listing);
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
      const user = await userById(databases, params.id);
      const view = viewAt(site, services);
      if (!canSeeProfile(actor, user)) return presentProfile(user, view, undefined);
      const isFollowed = user.followers_count > 0 && (await isFollowing(databases, viewerId, user.id));
      return presentProfile(user, view, { isFollowed });
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
    prepare: ({ params, services }) => hashPassword(services, chosenPassword(params)),
    async handle({ tx, actor, params, services, site, audit, ignored, passwordDigest }) {
      const settings = await services.settings.current();
      const id = await createUser(tx, withinPlan({ params, services, ignored }), {
        settings,
        blobs: services.blobs,
        passwordDigest,
        actorId: actor.user.id,
      });
      const view = await adminView(tx, id, { services, site, customAttributes: false, viewerId: actor.user.id });
      if (params.reset_password) {
        const { nonce } = await startInvitation(tx, services.sealing, view);
        await mailTo(services.jobs, tx, { kind: "invitation", userId: id, nonce });
      }
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
    prepare: ({ params, services }) => hashPassword(services, params.password),
    async handle({ tx, actor, params, services, site, audit, ignored, passwordDigest }) {
      const settings = await services.settings.current();
      const changed = await updateUser(tx, withinPlan({ params, services, ignored }), {
        settings,
        blobs: services.blobs,
        passwordDigest,
        actorId: actor.user.id,
      });
      const options = { services, site, customAttributes: false, viewerId: actor.user.id };
      const view = await adminView(tx, params.id, options);
      await finishUpdate({ tx, services }, view, changed, passwordDigest !== undefined);
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

  remove: endpoint({
    method: "DELETE",
    path: "/users/:id",
    summary: "Delete a user",
    access: administrator(),
    params: Type.Object({ ...UserId.properties, hard_delete: Flag }),
    audit: "user_deleted",
    conditional: true,
    async handle({ tx, actor, params: { id, hard_delete: hardDelete = false }, services, audit, unlessModified }) {
      const removal = { hardDelete, actorId: actor.user.id };
      const { username, updated_at } = await beginRemoval(tx, services.jobs, id, removal);
      unlessModified(updated_at);
      audit({ ...targetOf({ id, username }), details: { hard_delete: hardDelete } });
    },
  }),

  removeIdentity: endpoint({
    method: "DELETE",
    path: "/users/:id/identities/:provider",
    summary: "Remove the identity that a user has at a provider",
    access: administrator(),
    params: Type.Object({ ...UserId.properties, provider: Type.String({ maxLength: 128 }) }),
    audit: "user_identity_removed",
    conditional: true,
    async handle({ tx, params: { id, provider }, audit, unlessModified }) {
      const user = await lockedUser(tx, id);
      for (const { updated_at } of await removeIdentities(tx, id, provider)) unlessModified(updated_at);
      audit({ ...targetOf(user), details: { provider } });
    },
  }),
};

const hashPassword = async ({ passwords }: Services, password: string | undefined) => ({
  passwordDigest: password === undefined ? undefined : await passwords.hash(password),
});

/** On the hosted offering administrators get the same list as other users. */
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

/** Asks for the confirmation of a new address, and invalidates the credentials of an old password. */
async function finishUpdate(
  { tx, services: { jobs } }: Pick<WriteContext, "tx" | "services">,
  { id, unconfirmed_email: email }: AdminUser,
  changed: readonly string[],
  newPassword: boolean,
) {
  if (email !== undefined && changed.includes("unconfirmed_email"))
    await mailTo(jobs, tx, { kind: "confirm_email", userId: id, email });
  if (newPassword) await invalidateCredentials(tx, jobs, id);
}
