/** Every way to ask for groups, projects and members that a statement may be slow in, near and deep. */
import type { Request } from "./requests.ts";

const ORDERS = ["created_at", "id", "name", "path", "updated_at", "last_activity_at", "star_count"];

const FILTERS = [
  "membership=true",
  "owned=true",
  "starred=true",
  "min_access_level=40",
  "visibility=public",
  "visibility=private",
  "archived=true",
  "archived=false",
  "search=anchor",
  "search=keel%20tide",
  "search=777777",
  "search=zzzzzz",
  "search=ke",
  "membership=true&search=anchor",
  "membership=true&search=777777",
  "membership=true&archived=true",
  "topic=lagoon",
  "topic=nothing",
  "last_activity_after=2026-02-01",
  "last_activity_before=2020-07-01",
  "id_after=1000000&id_before=1000100",
  "simple=true",
];

const PLACES = ["", "sort=asc", "pagination=keyset", "page=400&per_page=100"];

const GROUP_FILTERS = [
  "",
  "all_available=true",
  "owned=true",
  "min_access_level=30",
  "top_level_only=true&all_available=true",
  "search=anchor",
  "search=777",
  "search=zzzzzz",
  "visibility=private&all_available=true",
  "order_by=path&all_available=true&sort=desc",
  "order_by=id&all_available=true&pagination=keyset",
];

/** What of the seed the requests name. */
export interface Named {
  /** The largest group, by id and by path. */
  readonly largest: { readonly id: number; readonly path: string };
  /** One of its projects, by id and by path. */
  readonly project: { readonly id: number; readonly path: string };
}

const CALLERS = ["anonymous", "user", "member of 5,000", "member of the largest", "administrator"] as const;

export function treeRequests({ largest, project }: Named): Request[] {
  const all = (paths: readonly string[]) => CALLERS.flatMap((caller) => paths.map((path) => ({ caller, path })));
  const members = CALLERS.filter((caller) => caller === "member of the largest" || caller === "administrator");
  const group = `/groups/${largest.id}`;
  return [
    ...all(ORDERS.flatMap((order) => PLACES.map((place) => `/projects?order_by=${order}&${place}`))),
    ...all(["name", "created_at"].flatMap((order) => FILTERS.map((filter) => `/projects?order_by=${order}&${filter}`))),
    ...all(FILTERS.map((filter) => `/projects?${filter}&pagination=keyset&per_page=100`)),
    ...all(ORDERS.map((order) => `/projects?membership=true&order_by=${order}&per_page=100`)),
    ...all(GROUP_FILTERS.map((filter) => `/groups?${filter}`)),
    ...all(["/namespaces", "/namespaces?search=anchor"]).filter(({ caller }) => caller !== "anonymous"),
    ...members.flatMap((caller) =>
      [
        `/projects/${project.id}`,
        `/projects/${encodeURIComponent(project.path)}`,
        group,
        `/groups/${largest.path}`,
        `${group}/projects`,
        ...ORDERS.map((order) => `${group}/projects?include_subgroups=true&order_by=${order}`),
        `${group}/projects?include_subgroups=true&search=anchor`,
        `${group}/projects?include_subgroups=true&order_by=name&page=400&per_page=100`,
        `${group}/projects?include_subgroups=true&order_by=name&pagination=keyset&per_page=100`,
        `${group}/subgroups?per_page=100`,
        `${group}/subgroups?search=keel`,
        `${group}/descendant_groups?per_page=100`,
        `${group}/members`,
        `${group}/members/all`,
        `${group}/members/all?query=ada`,
        `/projects/${project.id}/members`,
        `/projects/${project.id}/members/all`,
        `/projects/${project.id}/users`,
        `/projects/${project.id}/groups`,
        `/projects/${project.id}/starrers`,
        "/users/77/projects",
        "/users/77/starred_projects",
        `/namespaces/${largest.id}`,
      ].map((path) => ({ caller, path })),
    ),
  ];
}
