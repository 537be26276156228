import Type from "typebox";
import { signedIn } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { File, Flag, Nullable } from "#http/params/vocabulary.ts";
import { adminView } from "#domains/identity/users/admin-view.ts";
import { AdminUser, CurrentUser } from "#domains/identity/users/entity.ts";
import { targetOf } from "#domains/identity/users/named.ts";
import { TimeZone } from "#domains/identity/users/params.ts";
import { avatarUrl, presentCurrentUser, viewAt } from "#domains/identity/users/present.ts";
import { identitiesOf } from "#domains/identity/users/queries.ts";
import { currentAccount } from "./access.ts";
import { setAvatar, setPreferences } from "./actions.ts";
import { AvatarLink, presentPreferences, UserPreferences } from "./entity.ts";
import { PREFERENCES, preferencesOf } from "./queries.ts";

const PreferenceChanges = Type.Object(
  {
    view_diffs_file_by_file: Flag,
    show_whitespace_in_diffs: Flag,
    pass_user_identities_to_ci_jwt: Flag,
    timezone: TimeZone,
  },
  { atLeastOneOf: [[...PREFERENCES, "timezone"]] },
);

/** The calling user's own account, preferences and avatar. */
export const currentUser = {
  current: endpoint({
    method: "GET",
    path: "/user",
    summary: "Get the calling user",
    access: currentAccount(),
    params: Type.Object({}),
    returns: Type.Union([AdminUser, CurrentUser]),
    async handle({ db, user, identities, services, site }) {
      if (user.admin) return adminView(db, user.id, { services, site, customAttributes: false, viewerId: user.id });
      return presentCurrentUser(user, identities ?? (await identitiesOf(db, [user.id])), viewAt(site, services));
    },
  }),

  preferences: endpoint({
    method: "GET",
    path: "/user/preferences",
    summary: "Get one's own preferences",
    access: signedIn({ scopes: ["read_user"] }),
    params: Type.Object({}),
    returns: UserPreferences,
    handle: async ({ db, actor }) => presentPreferences(await preferencesOf(db, actor.user.id)),
  }),

  setPreferences: endpoint({
    method: "PUT",
    path: "/user/preferences",
    summary: "Change one's own preferences",
    access: signedIn(),
    params: PreferenceChanges,
    returns: UserPreferences,
    audit: "user_preferences_changed",
    async handle({ tx, actor, params, audit }) {
      await setPreferences(tx, actor.user.id, params);
      audit({ ...targetOf(actor.user), details: { changed: Object.keys(params) } });
      return presentPreferences(await preferencesOf(tx, actor.user.id));
    },
  }),

  setAvatar: endpoint({
    method: "PUT",
    path: "/user/avatar",
    summary: "Set one's own avatar, or remove it",
    access: signedIn(),
    params: Type.Object({ avatar: Nullable(File) }),
    returns: AvatarLink,
    audit: "user_avatar_set",
    async handle({ tx, actor, params, services, site, audit }) {
      const avatar_file = await setAvatar(tx, actor.user.id, params.avatar, services.blobs);
      audit(targetOf(actor.user));
      return { avatar_url: avatarUrl(site, { id: actor.user.id, avatar_file }) };
    },
  }),
};
