import { BOTS } from "#access/user-kinds.ts";
import type { Static } from "typebox";
import type { AdminUser, CurrentUser, UserPreferences, UserProfile, UserSummary } from "./entity.ts";
import type { Account, Creator, CustomAttribute, Identity, PreferencesRow, SummaryRow, WholeUser } from "./queries.ts";

/** What a view depends on beside the row: the address that links start with, and the caller's own clock. */
export interface View {
  readonly site: string;
  readonly now: Date;
}

export const presentSummary =
  (site: string) =>
  (row: SummaryRow): UserSummary => ({
    id: row.id,
    username: row.username,
    name: row.name,
    state: row.state,
    locked: row.locked,
    avatar_url: `${site}/uploads/-/system/user/avatar/${row.id}/${row.avatar_file ?? "default.svg"}`,
    web_url: `${site}/${row.username}`,
  });

/** What a profile that is private hides from others; whether the viewer follows the user is the viewer's own matter. */
const presentOpenPart = (row: Account, isFollowed: boolean) => ({
  created_at: row.created_at,
  followers: row.followers_count,
  following: row.following_count,
  is_followed: isFollowed,
});

/** A user as others see them; `seen` is absent where a private profile hides its more personal part. */
export const presentProfile = (
  row: Account,
  { site, now }: View,
  seen: { readonly isFollowed: boolean } | undefined,
): UserProfile => ({
  ...presentSummary(site)(row),
  ...(seen && presentOpenPart(row, seen.isFollowed)),
  bio: row.bio,
  bot: BOTS.has(row.user_type),
  location: row.location,
  public_email: row.public_email,
  linkedin: row.linkedin,
  twitter: row.twitter,
  discord: row.discord,
  github: row.github,
  website_url: row.website_url,
  organization: row.organization,
  job_title: row.job_title,
  pronouns: row.pronouns,
  work_information: workInformation(row),
  local_time: row.time_zone === null ? null : localTime(row.time_zone, now),
});

export const presentCurrentUser = (
  row: Account,
  identities: readonly Identity[],
  view: View,
  isFollowed = false,
): CurrentUser => ({
  ...presentProfile(row, view, { isFollowed }),
  email: row.email,
  ...(row.unconfirmed_email !== null && { unconfirmed_email: row.unconfirmed_email }),
  last_sign_in_at: row.last_sign_in_at,
  confirmed_at: row.confirmed_at,
  theme_id: row.theme_id,
  last_activity_on: row.last_activity_on,
  color_scheme_id: row.color_scheme_id,
  projects_limit: row.projects_limit,
  current_sign_in_at: row.current_sign_in_at,
  identities: identities.map(({ provider, extern_uid, saml_provider_id }) => ({
    provider,
    extern_uid,
    ...(saml_provider_id !== null && { saml_provider_id }),
  })),
  can_create_group: row.can_create_group,
  can_create_project: row.projects_limit > 0,
  two_factor_enabled: row.two_factor_enabled,
  external: row.external,
  private_profile: row.private_profile,
  commit_email: commitEmail(row, view.site),
  preferred_language: row.preferred_language,
});

export interface Surroundings {
  readonly identities: readonly Identity[];
  readonly creator: Creator | undefined;
  readonly customAttributes: readonly CustomAttribute[] | undefined;
  readonly plan: string;
  readonly isFollowed: boolean;
}

export const presentAdminUser = (row: WholeUser, around: Surroundings, view: View): AdminUser => ({
  ...presentCurrentUser(row, around.identities, view, around.isFollowed),
  ...(around.customAttributes && {
    custom_attributes: around.customAttributes.map(({ key, value }) => ({ key, value })),
  }),
  is_admin: row.admin,
  note: row.note,
  current_sign_in_ip: row.current_sign_in_ip,
  last_sign_in_ip: row.last_sign_in_ip,
  sign_in_count: row.sign_in_count,
  namespace_id: row.namespace_id,
  created_by: around.creator ? presentSummary(view.site)(around.creator) : null,
  email_reset_offered_at: row.email_reset_offered_at,
  plan: around.plan,
  trial: false,
  is_auditor: row.auditor,
  using_license_seat: row.state === "active" && row.user_type === "human",
  provisioned_by_group_id: row.provisioned_by_group_id,
  shared_runners_minutes_limit: row.shared_runners_minutes_limit,
  extra_shared_runners_minutes_limit: row.extra_shared_runners_minutes_limit,
  scim_identities: [],
});

export const presentPreferences = ({ id, ...chosen }: PreferencesRow): Static<typeof UserPreferences> => ({
  id,
  user_id: id,
  view_diffs_file_by_file: chosen.view_diffs_file_by_file,
  show_whitespace_in_diffs: chosen.show_whitespace_in_diffs,
  pass_user_identities_to_ci_jwt: chosen.pass_user_identities_to_ci_jwt,
});

function workInformation({ job_title, organization }: Account): string | null {
  if (job_title && organization) return `${job_title} at ${organization}`;
  return job_title || organization || null;
}

/** The address that a user's commits carry. */
export function commitEmail(
  { id, username, email, commit_email }: Pick<Account, "id" | "username" | "email" | "commit_email">,
  site: string,
): string {
  if (commit_email === "_private") return `${id}-${username}@users.noreply.${new URL(site).hostname}`;
  return commit_email ?? email;
}

const localTime = (timeZone: string, now: Date): string =>
  now.toLocaleTimeString("en-US", { timeZone, hour: "numeric", minute: "2-digit" });
