/** Every way to ask for users that a statement may be slow in: each filter, alone and with each order, near and deep. */

const FILTERS = [
  "",
  "username=ada.kim.77",
  "username=nobody-of-this-name",
  "public_email=nobody@public.example.com",
  "search=mar",
  "search=ada",
  "search=hopper",
  "search=ada.hopper",
  "search=%22Ada%20Hopper%22",
  "search=grace%20turing",
  "search=zzzzzz",
  "search=777777",
  "search=jo",
  "search=nobody@example.com",
  "search=mar&blocked=true",
  "search=a%25b_c",
  "active=true",
  "blocked=true",
  "external=true",
  "humans=true",
  "exclude_active=true",
  "exclude_external=true",
  "exclude_humans=true",
  "exclude_internal=true",
  "without_project_bots=true",
  "active=true&humans=true&exclude_external=true",
  "blocked=true&external=true",
  "blocked=true&exclude_humans=true",
  "active=true&blocked=true",
  "created_after=2025-06-01",
  "created_before=2020-02-01",
  "created_after=2030-01-01",
  "created_after=2022-01-01&created_before=2022-01-02",
];

const ADMINISTRATORS_FILTERS = [
  "two_factor=enabled",
  "two_factor=disabled",
  "admins=true",
  "auditors=true",
  "skip_ldap=true",
  "without_projects=true",
  "extern_uid=nobody&provider=none",
  "custom_attributes[desk]=window",
  "custom_attributes[desk]=window&custom_attributes[floor]=2",
  "two_factor=enabled&blocked=true&external=true",
  "with_custom_attributes=true",
];

const ORDERS = [
  "",
  "order_by=name&sort=asc",
  "order_by=username",
  "order_by=created_at&sort=asc",
  "order_by=updated_at",
];
const PLACES = ["", "pagination=keyset", "page=500&per_page=100"];

export interface Request {
  readonly caller: "anonymous" | "user" | "member of 5,000" | "member of the largest" | "administrator";
  readonly path: string;
  /** Whether it is refused, once that was looked up. */
  readonly refused?: true;
}

export function requests(): Request[] {
  const lists = (caller: Request["caller"], filters: readonly string[]) =>
    filters.flatMap((filter) =>
      ORDERS.flatMap((order) =>
        PLACES.map((place) => ({ caller, path: `/users?${[filter, order, place].filter(Boolean).join("&")}` })),
      ),
    );
  return [
    ...lists("anonymous", FILTERS),
    ...lists("administrator", [...FILTERS, ...ADMINISTRATORS_FILTERS]),
    { caller: "user", path: "/users" },
    { caller: "user", path: "/user" },
    { caller: "administrator", path: "/user" },
    { caller: "user", path: "/users/77" },
    { caller: "administrator", path: "/users/77?with_custom_attributes=true" },
    { caller: "user", path: "/personal_access_tokens?search=bench&sort=name_asc" },
    { caller: "administrator", path: "/personal_access_tokens?user_id=77" },
    { caller: "administrator", path: "/personal_access_tokens" },
  ];
}
