import { sql } from "kysely";
import Type from "typebox";
import { signedIn } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { File, Flag, Nullable } from "#http/params/vocabulary.ts";
import { type Problems, throwProblems } from "#lib/problems.ts";
import { avatarColumns, checkAvatar } from "#resources/avatars/images.ts";
import { AvatarLink, UserPreferences } from "./entity.ts";
import { targetOf } from "./named.ts";
import { presentPreferences, presentSummary } from "./present.ts";
import { PREFERENCES, preferencesOf, summariesOf } from "./queries.ts";

const Changes = Type.Object(
  { view_diffs_file_by_file: Flag, show_whitespace_in_diffs: Flag, pass_user_identities_to_ci_jwt: Flag },
  { atLeastOneOf: [PREFERENCES] },
);

/** What users choose for themselves. */
export const ownSettings = {
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
    params: Changes,
    returns: UserPreferences,
    audit: "user_preferences_changed",
    async handle({ tx, actor, params, audit }) {
      await tx.updateTable("users").set(params).where("id", "=", actor.user.id).execute();
      audit({ ...targetOf(actor.user), details: { changed: Object.keys(params) } });
      return presentPreferences(await preferencesOf(tx, actor.user.id));
    },
  }),

  setAvatar: endpoint({
    method: "PUT",
    path: "/user/avatar",
    summary: "Set one's own avatar, or take it away",
    access: signedIn(),
    params: Type.Object({ avatar: Nullable(File) }),
    returns: AvatarLink,
    audit: "user_avatar_set",
    async handle({ tx, actor, params: { avatar }, services, site, audit }) {
      const problems: Problems = {};
      if (avatar) checkAvatar(problems, avatar);
      throwProblems(problems);
      const columns = await avatarColumns(avatar, services.blobs);
      await tx
        .updateTable("users")
        .set({ ...columns, updated_at: sql<string>`now()` })
        .where("id", "=", actor.user.id)
        .execute();
      audit(targetOf(actor.user));
      const [user] = await summariesOf(tx, [actor.user.id]);
      return { avatar_url: user ? presentSummary(site)(user).avatar_url : "" };
    },
  }),
};
