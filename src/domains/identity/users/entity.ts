import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";

const NullableText = Nullable(Type.String());
const NullableTime = Nullable(Type.String({ format: "date-time" }));
const exact = { additionalProperties: false };

/** A key and value that administrators attach to a user. */
export const CustomAttribute = Type.Object(
  { key: Type.String(), value: Type.String() },
  { ...exact, title: "CustomAttribute" },
);

const summary = {
  id: Type.Integer(),
  username: Type.String(),
  name: Type.String(),
  state: Type.String({ description: "active, blocked, ldap_blocked, deactivated, banned or blocked_pending_approval" }),
  locked: Type.Boolean(),
  avatar_url: Type.String(),
  web_url: Type.String(),
};

/** The personal part of a profile, which a private one hides from others. */
const personal = {
  created_at: Type.Optional(Type.String({ format: "date-time" })),
  followers: Type.Optional(Type.Integer()),
  following: Type.Optional(Type.Integer()),
  is_followed: Type.Optional(Type.Boolean()),
};

const profile = {
  ...summary,
  ...personal,
  bio: Type.String(),
  bot: Type.Boolean(),
  location: NullableText,
  public_email: NullableText,
  linkedin: Type.String(),
  twitter: Type.String(),
  discord: Type.String(),
  github: Type.String(),
  website_url: Type.String(),
  organization: Type.String(),
  job_title: Type.String(),
  pronouns: Type.String(),
  work_information: NullableText,
  local_time: NullableText,
};

const account = {
  ...profile,
  email: Type.String(),
  unconfirmed_email: Type.Optional(Type.String()),
  last_sign_in_at: NullableTime,
  confirmed_at: NullableTime,
  theme_id: Type.Integer(),
  last_activity_on: Nullable(Type.String({ format: "date" })),
  color_scheme_id: Type.Integer(),
  projects_limit: Type.Integer(),
  current_sign_in_at: NullableTime,
  identities: Type.Array(
    Type.Object(
      { provider: Type.String(), extern_uid: Type.String(), saml_provider_id: Type.Optional(Type.Integer()) },
      exact,
    ),
  ),
  can_create_group: Type.Boolean(),
  can_create_project: Type.Boolean(),
  two_factor_enabled: Type.Boolean(),
  external: Type.Boolean(),
  private_profile: Type.Boolean(),
  commit_email: Type.String(),
  preferred_language: Type.String(),
};

const PREMIUM = { plan: "premium" } as const;

/** The public summary, as lists and embedded users show it. */
export const UserSummary = Type.Object(summary, { ...exact, title: "UserSummary" });

/** Another user, as anyone who is signed in sees them. */
export const UserProfile = Type.Object(profile, { ...exact, title: "UserProfile" });

/** The caller's own account. */
export const CurrentUser = Type.Object(account, { ...exact, title: "CurrentUser" });

/** Everything that administrators see. */
export const AdminUser = Type.Object(
  {
    ...account,
    custom_attributes: Type.Optional(Type.Array(CustomAttribute)),
    is_admin: Type.Boolean(),
    locked_until: Nullable(Type.String({ format: "date-time", description: "Null unless the account is locked" })),
    lock_reason: Nullable(
      Type.Literal("too_many_failed_attempts", {
        description: "Wrong passwords or codes; the audit events of the user tell when and from where",
      }),
    ),
    failed_attempts: Type.Integer({ description: "Wrong passwords and codes since the last sign-in" }),
    note: NullableText,
    current_sign_in_ip: NullableText,
    last_sign_in_ip: NullableText,
    sign_in_count: Type.Integer(),
    namespace_id: Type.Integer(),
    created_by: Nullable(UserSummary),
    email_reset_offered_at: NullableTime,
    plan: Type.Optional(Type.String(PREMIUM)),
    trial: Type.Optional(Type.Boolean(PREMIUM)),
    is_auditor: Type.Optional(Type.Boolean(PREMIUM)),
    using_license_seat: Type.Optional(Type.Boolean(PREMIUM)),
    provisioned_by_group_id: Type.Optional(Type.Union([Type.Integer(), Type.Null()], PREMIUM)),
    shared_runners_minutes_limit: Type.Optional(Type.Union([Type.Integer(), Type.Null()], PREMIUM)),
    extra_shared_runners_minutes_limit: Type.Optional(Type.Union([Type.Integer(), Type.Null()], PREMIUM)),
    scim_identities: Type.Optional(
      Type.Array(Type.Object({ extern_uid: Type.String(), group_id: Type.Integer(), active: Type.Boolean() }, exact), {
        ...PREMIUM,
        offering: ["hosted"],
      }),
    ),
  },
  { ...exact, title: "AdminUser" },
);

export type UserSummary = Static<typeof UserSummary>;
export type UserProfile = Static<typeof UserProfile>;
export type CurrentUser = Static<typeof CurrentUser>;
export type AdminUser = Static<typeof AdminUser>;
