/** Every way to list groups, projects, members and enterprise users. */
import { any, BY_OFFSET, type Caller, common, FIRST, list, none, PLACES, type Request } from "./request.ts";
import type { Sample } from "./sample.ts";

const CALLERS: readonly Caller[] = ["anonymous", "user", "member of 5,000", "member of the largest", "administrator"];
const SIGNED_IN = CALLERS.filter((caller) => caller !== "anonymous");
const SEES_LARGEST: readonly Caller[] = ["member of the largest", "administrator"];
const ORDERS = ["created_at", "id", "name", "path", "updated_at", "last_activity_at", "star_count"].map(
  (order) => `order_by=${order}`,
);

const projectFilters = ({ rareNumber }: Sample) => [
  any("membership=true"),
  any("owned=true"),
  any("starred=true"),
  any("min_access_level=40"),
  "visibility=public",
  any("visibility=private"),
  "archived=true",
  "archived=false",
  common("search=anchor"),
  common("search=keel%20tide"),
  any(`search=${rareNumber}`),
  none("search=zzzzzz"),
  any("search=ke"),
  { ...common("membership=true&search=anchor"), rows: "any" as const },
  any(`membership=true&search=${rareNumber}`),
  any("membership=true&archived=true"),
  "topic=lagoon",
  none("topic=nothing"),
  any("last_activity_after=2026-02-01"),
  "last_activity_before=2020-07-01",
  any("id_after=1000000&id_before=1000100"),
  "simple=true",
];

const groupFilters = ({ rareNumber }: Sample) => [
  any(""),
  "all_available=true",
  any("owned=true"),
  any("min_access_level=30"),
  "top_level_only=true&all_available=true",
  { ...common("search=anchor"), rows: "any" as const },
  common("search=anchor&all_available=true"),
  any(`search=${rareNumber}`),
  none("search=zzzzzz"),
  any("visibility=private&all_available=true"),
];
const GROUP_ORDERS = ["", "order_by=path&sort=desc", "order_by=id"];

const peopleFilters = ({ user, rareNumber }: Sample) => [
  "",
  any(`username=${user.username}`),
  common("search=mar"),
  common("search=hopper"),
  "search=ada.hopper",
  common("search=grace%20turing"),
  none("search=zzzzzz"),
  any(`search=${rareNumber}`),
  common("search=example.com"),
  "active=true",
  "blocked=true",
  "two_factor=enabled",
  "two_factor=disabled",
  any("blocked=true&two_factor=enabled"),
  any("created_after=2025-06-01"),
  "created_before=2020-02-01",
  any("created_after=2022-01-01&created_before=2022-01-02"),
  common("search=mar&blocked=true"),
];

export function organizationRequests(sample: Sample): Request[] {
  const { largest, project } = sample;
  const filters = projectFilters(sample);
  return [
    ...list("/projects", { callers: CALLERS, orders: [...ORDERS, ...ORDERS.map((order) => `${order}&sort=asc`)] }),
    ...list("/projects", {
      callers: CALLERS,
      filters,
      orders: ["order_by=name", "order_by=created_at"],
      places: FIRST,
    }),
    ...list("/projects", { callers: CALLERS, filters }),
    ...list("/projects", { callers: CALLERS, filters: [any("membership=true")], orders: ORDERS }),
    ...list("/groups", { callers: CALLERS, filters: groupFilters(sample), orders: GROUP_ORDERS }),
    ...list("/namespaces", { callers: SIGNED_IN, filters: ["", any("search=anchor")], places: BY_OFFSET }),
    ...list(`/groups/${largest.id}/enterprise_users`, { filters: peopleFilters(sample) }),
    ...list(`/groups/${largest.id}/verified_domains`, { places: BY_OFFSET }),
    ...list(`/groups/${largest.id}/saml_users`, { filters: [any("")] }),
    ...[
      `/projects/${project.id}`,
      `/projects/${encodeURIComponent(project.path)}`,
      `/groups/${largest.id}`,
      `/groups/${largest.path}`,
      `/namespaces/${largest.id}`,
    ].flatMap((path) => list(path, { callers: SEES_LARGEST, places: FIRST })),
    ...requestsInLargest(sample),
  ];
}

function requestsInLargest({ user, largest, project, starred }: Sample): Request[] {
  const group = `/groups/${largest.id}`;
  const callers = SEES_LARGEST;
  const members = { callers, filters: [any(""), any("query=ada")], places: PLACES };
  return [
    ...list(`${group}/projects`, { callers, filters: [any("")] }),
    ...list(`${group}/projects`, {
      callers,
      filters: ["include_subgroups=true", common("include_subgroups=true&search=anchor")],
      orders: ORDERS,
    }),
    ...list(`${group}/subgroups`, { callers, filters: ["", common("search=keel")] }),
    ...list(`${group}/descendant_groups`, { callers, filters: ["", common("search=keel")] }),
    ...list(`${group}/members`, members),
    ...list(`${group}/members/all`, members),
    ...list(`/projects/${project.id}/members`, members),
    ...list(`/projects/${project.id}/members/all`, members),
    ...list(`/projects/${project.id}/users`, { callers, filters: [any("")], places: BY_OFFSET }),
    ...list(`/projects/${project.id}/groups`, { callers, places: BY_OFFSET }),
    ...list(`/projects/${starred.project}/starrers`, { callers: ["administrator"], places: BY_OFFSET }),
    ...list(`/users/${starred.user}/starred_projects`, { callers: ["administrator"] }),
    ...list(`/users/${user.id}/projects`, { callers, filters: [any("")] }),
  ];
}
