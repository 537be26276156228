/** Every way to list users, tokens, keys and service accounts. */
import { any, BY_OFFSET, common, costly, FIRST, list, none, PLACES, type Request, unskippable } from "./request.ts";
import type { Sample } from "./sample.ts";

const userFilters = ({ user, rareNumber }: Sample) => [
  "",
  `username=${user.username}`,
  none("username=nobody-of-this-name"),
  none("public_email=nobody@public.example.com"),
  common("search=mar"),
  common("search=ada"),
  common("search=hopper"),
  any("search=jo"),
  "search=ada.hopper",
  "search=%22Ada%20Hopper%22",
  common("search=grace%20turing"),
  none("search=zzzzzz"),
  `search=${rareNumber}`,
  none("search=nobody@example.com"),
  { ...common("search=mar&blocked=true"), rows: "any" as const },
  none("search=a%25b_c"),
  "active=true",
  any("blocked=true"),
  "external=true",
  "humans=true",
  "exclude_active=true",
  "exclude_external=true",
  "exclude_humans=true",
  "exclude_internal=true",
  "without_project_bots=true",
  "active=true&humans=true&exclude_external=true",
  any("blocked=true&external=true"),
  any("blocked=true&exclude_humans=true"),
  none("active=true&blocked=true"),
  any("created_after=2025-06-01"),
  "created_before=2020-02-01",
  none("created_after=2030-01-01"),
  any("created_after=2022-01-01&created_before=2022-01-02"),
];

const ADMINISTRATORS_FILTERS = [
  "two_factor=enabled",
  "two_factor=disabled",
  "admins=true",
  "auditors=true",
  any("skip_ldap=true"),
  costly("without_projects=true"),
  none("extern_uid=nobody&provider=none"),
  none("custom_attributes[desk]=window"),
  none("custom_attributes[desk]=window&custom_attributes[floor]=2"),
  any("two_factor=enabled&blocked=true&external=true"),
  "with_custom_attributes=true",
  "last_activity_after=2026-10-20",
  "last_activity_before=2026-01-05",
  "last_activity_after=2026-03-01&last_activity_before=2026-03-03",
  "never_signed_in=true",
  "never_signed_in=true&blocked=true",
];

const USER_ORDERS = [
  "",
  "order_by=name&sort=asc",
  "order_by=username",
  "order_by=created_at&sort=asc",
  "order_by=updated_at",
];

const tokenFilters = ({ rareNumber }: Sample) => [
  "",
  unskippable("state=active"),
  unskippable("state=inactive"),
  unskippable("revoked=true"),
  unskippable("revoked=false"),
  common("search=harbour"),
  common("search=deploy%20keel"),
  none("search=zzzzzz"),
  any(`search=${rareNumber}`),
  any("created_after=2026-11-01"),
  any("created_before=2024-03-01"),
  any("last_used_after=2026-11-01"),
  any("last_used_before=2024-03-01"),
  any("expires_after=2027-10-01"),
  any("expires_before=2024-06-01"),
  "state=active&expires_before=2027-01-01",
  common("state=active&search=mast&last_used_after=2026-01-01"),
];

const TOKEN_ORDERS = [
  "",
  ...["created", "expires", "last_used", "name"].flatMap((by) => [`sort=${by}_asc`, `sort=${by}_desc`]),
];

const ACCOUNT_ORDERS = ["", "order_by=username", "order_by=username&sort=asc", "sort=asc"];

export function identityRequests(sample: Sample): Request[] {
  const { user, serviceAccount, keyOwner } = sample;
  const filters = userFilters(sample);
  const ofGroup = `/groups/${serviceAccount.group}/service_accounts`;
  const ofUser = `/users/${user.id}`;
  return [
    ...list("/users", { callers: ["anonymous"], filters, orders: USER_ORDERS }),
    ...list("/users", { filters: [...filters, ...ADMINISTRATORS_FILTERS], orders: USER_ORDERS }),
    ...list("/users", { callers: ["user"] }),
    ...list("/user", { callers: ["user", "administrator"], places: FIRST }),
    ...list(ofUser, { callers: ["user"], places: FIRST }),
    ...list(`${ofUser}?with_custom_attributes=true`, { places: FIRST }),
    ...list(`${ofUser}/memberships`, { places: BY_OFFSET, filters: [any("")] }),
    // The seed leaves these empty for most users.
    ...["/user/keys", "/user/emails", "/user/sessions", `${ofUser}/followers`, `${ofUser}/following`].flatMap((path) =>
      list(path, { callers: ["user"], places: FIRST, filters: [any("")] }),
    ),
    ...["emails", "custom_attributes"].flatMap((kind) =>
      list(`${ofUser}/${kind}`, { places: FIRST, filters: [any("")] }),
    ),
    ...list(`/users/${keyOwner}/keys`, { places: BY_OFFSET }),
    ...list("/personal_access_tokens", {
      callers: ["user"],
      filters: ["search=bench"],
      orders: ["sort=name_asc"],
      places: FIRST,
    }),
    ...list("/personal_access_tokens", { filters: [`user_id=${user.id}`], places: FIRST }),
    ...list("/personal_access_tokens", { filters: tokenFilters(sample), orders: TOKEN_ORDERS, places: BY_OFFSET }),
    ...list("/personal_access_tokens"),
    ...list(`${ofGroup}/${serviceAccount.id}/personal_access_tokens`, {
      filters: tokenFilters(sample),
      orders: TOKEN_ORDERS,
      places: BY_OFFSET,
    }),
    ...list(`/users/${serviceAccount.id}/impersonation_tokens`, {
      filters: [any(""), any("state=active"), any("state=inactive")],
      places: BY_OFFSET,
    }),
    ...list("/service_accounts", { orders: ACCOUNT_ORDERS, places: PLACES }),
    ...list(ofGroup, { orders: ACCOUNT_ORDERS, places: PLACES }),
  ];
}
