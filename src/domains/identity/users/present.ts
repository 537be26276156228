import { BOTS } from "#access/user-kinds.ts";
import { privateCommitEmail } from "#lib/noreply.ts";
import type { Services } from "#services.ts";
import type { AdminUser, CurrentUser, UserProfile, UserSummary } from "./entity.ts";
import type { Account, AdminUserRow, CustomAttribute, Identity, SummaryRow } from "./queries.ts";

/** What a view depends on besides the row: the base URL of links, the current time, and the address of the installation. */
export interface View {
  readonly site: string;
  readonly now: Date;
  readonly externalUrl: string | undefined;
}

export const viewAt = (site: string, { now, config: { externalUrl } }: Services): View => ({
  site,
  now: now(),
  externalUrl,
});

export const avatarUrl = (site: string, { id, avatar_file }: Pick<SummaryRow, "id" | "avatar_file">): string =>
  `${site}/uploads/-/system/user/avatar/${id}/${avatar_file ?? "default.svg"}`;

export const presentSummary =
  (site: string) =>
  (row: SummaryRow): UserSummary => ({
    id: row.id,
    username: row.username,
    name: row.name,
    state: row.state,
    locked: row.locked,
    avatar_url: avatarUrl(site, row),
    web_url: `${site}/${row.username}`,
  });

/** The personal part of a profile, which a private one hides from others. */
const presentPersonalPart = (row: Account, isFollowed: boolean) => ({
  created_at: row.created_at,
  followers: row.followers_count,
  following: row.following_count,
  is_followed: isFollowed,
});

/** A user as others see them; without `viewer` the personal part is left out. */
export const presentProfile = (
  row: Account,
  { site, now }: View,
  viewer: { readonly isFollowed: boolean } | undefined,
): UserProfile => ({
  ...presentSummary(site)(row),
  ...(viewer && presentPersonalPart(row, viewer.isFollowed)),
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
  commit_email: commitEmail(row, view.externalUrl),
  preferred_language: row.preferred_language,
});

/** What the view of administrators shows besides the row. */
export interface AdminUserDetails {
  readonly identities: readonly Identity[];
  readonly creator: SummaryRow | undefined;
  readonly customAttributes: readonly CustomAttribute[] | undefined;
  readonly plan: string;
  readonly isFollowed: boolean;
}

export const presentAdminUser = (row: AdminUserRow, details: AdminUserDetails, view: View): AdminUser => ({
  ...presentCurrentUser(row, details.identities, view, details.isFollowed),
  ...(details.customAttributes && {
    custom_attributes: details.customAttributes.map(({ key, value }) => ({ key, value })),
  }),
  is_admin: row.admin,
  ...presentLock(row),
  note: row.note,
  current_sign_in_ip: row.current_sign_in_ip,
  last_sign_in_ip: row.last_sign_in_ip,
  sign_in_count: row.sign_in_count,
  namespace_id: row.namespace_id,
  created_by: details.creator ? presentSummary(view.site)(details.creator) : null,
  email_reset_offered_at: row.email_reset_offered_at,
  plan: details.plan,
  trial: false,
  is_auditor: row.auditor,
  using_license_seat: row.state === "active" && row.user_type === "human",
  provisioned_by_group_id: row.provisioned_by_group_id,
  shared_runners_minutes_limit: row.shared_runners_minutes_limit,
  extra_shared_runners_minutes_limit: row.extra_shared_runners_minutes_limit,
  scim_identities: [],
});

/** A lock whose time is over counts for nothing, and neither do the attempts that led to it. */
function presentLock({ locked, locked_until, failed_attempts }: AdminUserRow) {
  if (locked) return { locked_until, lock_reason: "too_many_failed_attempts" as const, failed_attempts };
  return { locked_until: null, lock_reason: null, failed_attempts: locked_until === null ? failed_attempts : 0 };
}

function workInformation({ job_title, organization }: Account): string | null {
  if (job_title && organization) return `${job_title} at ${organization}`;
  return job_title || organization || null;
}

/** The address of a user as author of commits. */
export function commitEmail(
  { id, username, email, commit_email }: Pick<Account, "id" | "username" | "email" | "commit_email">,
  externalUrl: string | undefined,
): string {
  return commit_email === "_private" ? privateCommitEmail({ id, username }, externalUrl) : (commit_email ?? email);
}

const localTime = (timeZone: string, now: Date): string =>
  now.toLocaleTimeString("en-US", { timeZone, hour: "numeric", minute: "2-digit" });
