import Type from "typebox";
import { DateOnly, DateTime, File, Flag, Hash, Id, Line, Nullable, Text } from "#http/params/vocabulary.ts";

const optional = (description: string) => Type.Optional(Type.String({ maxLength: 1024, description }));
const nullable = (description: string) => Type.Optional(Nullable(Type.String({ maxLength: 1024, description })));
const PREMIUM = { plan: "premium" } as const;
const NOT_HOSTED = { offering: ["self-managed", "dedicated"] } as const;

/** The name of a time zone; null or an empty text for none. */
export const TimeZone = nullable("Name in the IANA time zone database, such as Europe/Berlin");

/** The id of a user in a path: anything but digits does not match the route. */
export const UserId = Type.Object({
  id: Type.Integer({ minimum: 0, "x-digits-only": true, description: "The `id` of the user" }),
});

export const UserFilters = Type.Object(
  {
    username: optional("Exactly this username, in any case"),
    public_email: optional("Exactly this public email address"),
    search: Type.Optional(
      Type.String({ maxLength: 512, description: "Part of a name or username, or a whole email address" }),
    ),
    active: Flag,
    blocked: Flag,
    external: Flag,
    humans: Flag,
    exclude_active: Flag,
    exclude_external: Flag,
    exclude_humans: Flag,
    exclude_internal: Flag,
    without_project_bots: Flag,
    created_after: Type.Optional(DateTime),
    created_before: Type.Optional(DateTime),
    last_activity_after: Type.Optional(DateOnly),
    last_activity_before: Type.Optional(DateOnly),
    never_signed_in: Flag,
    extern_uid: Type.Optional(Type.String({ maxLength: 1024, ...NOT_HOSTED })),
    provider: Type.Optional(Type.String({ maxLength: 1024, ...NOT_HOSTED })),
    two_factor: Type.Optional(Type.String({ description: "enabled or disabled", ...NOT_HOSTED })),
    without_projects: Type.Optional(Type.Boolean(NOT_HOSTED)),
    admins: Type.Optional(Type.Boolean(NOT_HOSTED)),
    auditors: Type.Optional(Type.Boolean({ ...NOT_HOSTED, ...PREMIUM })),
    skip_ldap: Type.Optional(Type.Boolean({ ...NOT_HOSTED, ...PREMIUM })),
    custom_attributes: Type.Optional(Hash),
    with_custom_attributes: Flag,
  },
  { allOrNoneOf: [["extern_uid", "provider"]] },
);

const profile = {
  admin: Flag,
  auditor: Type.Optional(Type.Boolean(PREMIUM)),
  avatar: Type.Optional(Nullable(File)),
  bio: nullable("About the user"),
  location: nullable("Where the user is"),
  organization: nullable("Where the user works"),
  job_title: nullable("What the user does there"),
  pronouns: nullable("How to speak of the user"),
  timezone: TimeZone,
  linkedin: nullable("LinkedIn account"),
  twitter: nullable("Twitter account"),
  discord: nullable("Discord account"),
  github: nullable("GitHub account"),
  website_url: nullable("Web site"),
  note: Type.Optional(Nullable(Type.String({ maxLength: 65_536, description: "Administrators' note" }))),
  can_create_group: Flag,
  color_scheme_id: Type.Optional(Type.Integer()),
  theme_id: Type.Optional(Type.Integer()),
  commit_email: nullable("Address for commits; `_private` for one that hides the address"),
  public_email: nullable("Address that everyone sees"),
  // One unique index has both, and its rows may be at most 2,704 bytes long.
  extern_uid: Type.Optional(Type.String({ maxLength: 512, description: "The user's id at an identity provider" })),
  provider: Type.Optional(Type.String({ maxLength: 128, description: "Name of that identity provider" })),
  group_id_for_saml: Type.Optional(Id),
  external: Flag,
  private_profile: Type.Optional(Nullable(Type.Boolean())),
  projects_limit: Type.Optional(Type.Integer({ maximum: 2 ** 31 - 1 })),
  shared_runners_minutes_limit: Type.Optional(Type.Union([minutes(), Type.Null()], PREMIUM)),
  extra_shared_runners_minutes_limit: Type.Optional(Type.Union([minutes(), Type.Null()], PREMIUM)),
  view_diffs_file_by_file: Flag,
};

function minutes() {
  return Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 });
}

const Password = Type.Optional(Type.String({ maxLength: 1024 }));

export const NewUser = Type.Object(
  {
    username: Text(1024),
    name: Line(1024),
    email: Text(1024),
    password: Password,
    reset_password: Flag,
    force_random_password: Flag,
    skip_confirmation: Flag,
    ...profile,
  },
  {
    atLeastOneOf: [["password", "reset_password", "force_random_password"]],
    allOrNoneOf: [["extern_uid", "provider"]],
  },
);

export const UserChanges = Type.Object(
  {
    ...UserId.properties,
    username: Type.Optional(Text(1024)),
    name: Type.Optional(Line(1024)),
    email: Type.Optional(Text(1024)),
    password: Password,
    skip_reconfirmation: Flag,
    ...profile,
  },
  { allOrNoneOf: [["extern_uid", "provider"]] },
);
