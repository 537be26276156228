import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import type { PreferencesRow } from "./queries.ts";

const exact = { additionalProperties: false };

/** How diffs are shown to the user, and what CI jobs learn about them. */
export const UserPreferences = Type.Object(
  {
    id: Type.Integer(),
    user_id: Type.Integer(),
    view_diffs_file_by_file: Type.Boolean(),
    show_whitespace_in_diffs: Type.Boolean(),
    pass_user_identities_to_ci_jwt: Type.Boolean(),
    timezone: Nullable(Type.String()),
  },
  { ...exact, title: "UserPreferences" },
);

export const AvatarLink = Type.Object({ avatar_url: Type.String() }, { ...exact, title: "AvatarLink" });

export const presentPreferences = ({ id, ...preferences }: PreferencesRow): Static<typeof UserPreferences> => ({
  id,
  user_id: id,
  view_diffs_file_by_file: preferences.view_diffs_file_by_file,
  show_whitespace_in_diffs: preferences.show_whitespace_in_diffs,
  pass_user_identities_to_ci_jwt: preferences.pass_user_identities_to_ci_jwt,
  timezone: preferences.time_zone,
});
