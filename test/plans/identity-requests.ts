/** Every way to ask for tokens, service accounts and enterprise users that a statement may be slow in. */
import type { Request } from "./requests.ts";

const TOKEN_SORTS = ["created", "expires", "last_used", "name"].flatMap((by) => [`${by}_asc`, `${by}_desc`]);

const TOKEN_FILTERS = [
  "",
  "state=active",
  "state=inactive",
  "revoked=true",
  "revoked=false",
  "search=harbour",
  "search=deploy%20keel",
  "search=zzzzzz",
  "search=777",
  "created_after=2026-11-01",
  "created_before=2024-03-01",
  "last_used_after=2026-11-01",
  "last_used_before=2024-03-01",
  "expires_after=2027-10-01",
  "expires_before=2024-06-01",
  "state=active&expires_before=2027-01-01",
  "state=active&search=mast&last_used_after=2026-01-01",
];

const PEOPLE_FILTERS = [
  "",
  "username=ada.kim.77",
  "search=mar",
  "search=hopper",
  "search=ada.hopper",
  "search=grace%20turing",
  "search=zzzzzz",
  "search=777777",
  "search=example.com",
  "active=true",
  "blocked=true",
  "two_factor=enabled",
  "two_factor=disabled",
  "blocked=true&two_factor=enabled",
  "created_after=2025-06-01",
  "created_before=2020-02-01",
  "created_after=2022-01-01&created_before=2022-01-02",
  "search=mar&blocked=true",
];

const PLACES = ["", "page=40&per_page=100"];
const USER_FILTERS = [
  "last_activity_after=2026-10-20",
  "last_activity_before=2026-01-05",
  "last_activity_after=2026-03-01&last_activity_before=2026-03-03",
  "never_signed_in=true",
  "never_signed_in=true&blocked=true",
];

/** What of the seed the requests name. */
export interface Named {
  /** A group at the top with service accounts. */
  readonly group: number;
  /** The one of them with the most tokens. */
  readonly account: number;
  /** The group that all seeded people are enterprise users of. */
  readonly employer: number;
}

export function identityRequests({ group, account, employer }: Named): Request[] {
  const lists = (path: string, ...choices: readonly (readonly string[])[]): Request[] =>
    choices
      .reduce<string[]>((queries, more) => queries.flatMap((query) => more.map((each) => `${query}&${each}`)), [""])
      .map((query) => ({ caller: "administrator", path: `${path}?${query.split("&").filter(Boolean).join("&")}` }));
  const sorts = ["", ...TOKEN_SORTS.map((sort) => `sort=${sort}`)];
  const orders = ["", "order_by=username", "order_by=username&sort=asc", "sort=asc"];
  const ofAccount = `/groups/${group}/service_accounts/${account}/personal_access_tokens`;
  return [
    ...lists("/personal_access_tokens", TOKEN_FILTERS, sorts, PLACES),
    ...lists(ofAccount, TOKEN_FILTERS, sorts, PLACES),
    ...lists(`/users/${account}/impersonation_tokens`, ["", "state=active", "state=inactive"], PLACES),
    ...lists("/service_accounts", orders, [...PLACES, "pagination=keyset"]),
    ...lists(`/groups/${group}/service_accounts`, orders, [...PLACES, "pagination=keyset"]),
    ...lists(`/groups/${employer}/enterprise_users`, PEOPLE_FILTERS, PLACES),
    ...lists("/users", USER_FILTERS, ["", "order_by=name&sort=asc"], ["", "pagination=keyset"]),
    ...lists(`/users/${account}/memberships`, PLACES),
    { caller: "user", path: "/user/keys" },
    { caller: "user", path: "/users/77/followers" },
  ];
}
