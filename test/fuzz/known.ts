import fc, { type Arbitrary } from "fast-check";
import Type, { type TSchema } from "typebox";
import type { Endpoint } from "#http/endpoint.ts";
import { lines } from "#test/matrix/lines.ts";
import { codeValues, isAboutCode } from "./code-values.ts";
import { sshKey } from "./ssh-keys.ts";
import type { Belonging, Container, Places, Tree } from "./tree.ts";
import type { World } from "./world.ts";

/** Values that name existing rows, for parameters whose meaning follows from their name and endpoint. */
export type Known = (name: string, schema: TSchema) => Arbitrary<unknown> | undefined;

/** A path with more segments than any container has. */
const MISSING_PATH = Array.from({ length: 22 }, () => "deep").join("/");

const id = (places: readonly Container[]) =>
  fc.oneof(
    { arbitrary: fc.constantFrom(...places.map((place) => place.id)), weight: 9 },
    { arbitrary: fc.nat(1000), weight: 1 },
  );

/** An id or a full path, in any case, sometimes a previous or a missing one. */
const address = (places: readonly Container[], old: readonly string[]): Arbitrary<unknown> =>
  fc.oneof(
    { arbitrary: id(places), weight: 6 },
    { arbitrary: fc.constantFrom(...places.map(({ path }) => path)), weight: 5 },
    { arbitrary: fc.constantFrom(...places.map(({ path }) => path.toUpperCase())), weight: 1 },
    { arbitrary: fc.constantFrom(...old), weight: 1 },
    { arbitrary: fc.constantFrom(MISSING_PATH, ...places.map(({ path }) => `${path}/deep`)), weight: 1 },
  );

const user = fc.integer({ min: 1, max: 35 });

/** The kind of container that the `:id` of a path names. */
const kindOf = (path: string) => /^\/(?:uploads\/-\/system\/)?(group|project|namespace)/.exec(path)?.[1];

export function knownTo(endpoint: Endpoint, { tree, people, code }: World): Known {
  const { path } = endpoint;
  const { groups, projects, namespaces } = tree;
  const inNamespaces = address(namespaces, groups.old);
  const named = placesOf(path, tree);
  const addressOfCode = fc.oneof(
    { arbitrary: address(code.places, projects.old), weight: 7 },
    { arbitrary: address(projects.all, projects.old), weight: 1 },
  );
  const values: Readonly<Record<string, Arbitrary<unknown>>> = {
    ...valuesSent(endpoint),
    ...(named && { id: address(named.all, named.old) }),
    ...(path.includes("/members") && { username: fc.constantFrom(...people) }),
    project_id: address(projects.all, projects.old),
    namespace_id: inNamespaces,
    namespace: inNamespaces,
    group_id: id(groups.all),
    parent_id: id(groups.all),
    skip_groups: id(groups.all),
    entity_id: fc.integer({ min: 1, max: 80 }),
    color: fc.constantFrom("#0fa", "#A1b2C3", "teal"),
    ...(/[/_]keys$/.test(path) && { key: sshKey }),
    // By token only the first two are allowed.
    ...(path === "/user/personal_access_tokens" && { scopes: fc.constantFrom("k8s_proxy", "self_rotate", "api") }),
    full_path: fc.constantFrom(...groups.all, ...projects.all).map((place) => place.path),
    ...(isAboutCode(endpoint) && { ...codeValues(endpoint, code), id: addressOfCode }),
  };
  // A user by id or, if the parameter is a text, also by name.
  const isUser = (name: string) =>
    name === "user_id" || name === "id_or_username" || (name === "id" && path.startsWith("/users/:id"));
  return (name, schema) => {
    if (!isUser(name)) return values[name];
    return Type.IsString(schema) ? fc.oneof(user, fc.constantFrom(...people)) : user;
  };
}

/** Texts of a form that only the contract knows, such as an address of a server; those it fills in are left to others. */
function valuesSent({ method, path }: Endpoint): Record<string, Arbitrary<unknown>> {
  const sent = [...new URLSearchParams(lines[`${method} ${path}`]?.send)].filter(([, value]) => !/[*{]/.test(value));
  return Object.fromEntries(
    sent.flatMap(([name, value]) => {
      const [, inner] = /\[(\w+)\]$/.exec(name) ?? [];
      return inner === undefined ? [] : [[inner, fc.constant(value)]];
    }),
  );
}

/** One spelling of each kind for the container that `:id` names, if it has a path. */
export function addressesFor(endpoint: Endpoint, { tree, code }: World): readonly unknown[] {
  const { path } = endpoint;
  const named = placesOf(path, tree);
  const places = named && isAboutCode(endpoint) ? { all: code.places, old: named.old } : named;
  const [first] = places?.all ?? [];
  if (!places || !first || !path.includes(":id")) return [];
  return [
    first.id,
    first.path,
    first.path.toUpperCase(),
    ...places.old.slice(0, 1),
    `${first.path}/deep`,
    MISSING_PATH,
  ];
}

function placesOf(path: string, { groups, projects, namespaces }: Tree): Pick<Places, "all" | "old"> | undefined {
  const kind = kindOf(path);
  if (kind === "group") return groups;
  return kind === "project" ? projects : kind === "namespace" ? { all: namespaces, old: groups.old } : undefined;
}

/** Values that belong together, such as a group and one of its members; random ones would rarely match. */
export function relatedTo(endpoint: Endpoint, world: World): Arbitrary<Record<string, unknown>> | undefined {
  const { tree, accounts, related } = world;
  const { method, path } = endpoint;
  const proof = accounts.proofFor(endpoint);
  if (proof) return proof;
  const together = related.get(`${method} ${path}`) ?? related.get(path);
  if (together) return fc.constantFrom(...together);
  const kind = kindOf(path);
  if (path.startsWith("/uploads/-/system/user/")) return user.map((id) => ({ id, file: "default.svg" }));
  const places = kind === "group" ? tree.groups : kind === "project" ? tree.projects : undefined;
  const found = places && relations(method, path, places);
  return found && found.length > 0 ? fc.constantFrom(...found) : undefined;
}

function relations(method: string, path: string, places: Places): readonly Record<string, unknown>[] {
  const [, child = ""] = /\/:id\/(.*)$/.exec(path) ?? [];
  if (/^members\/(?:all\/)?:user_id$/.test(child)) return pairs(places.members, "user_id");
  if (child === "share/:group_id") return pairs(places.shares, "group_id");
  if (child === "audit_events/:audit_event_id") return pairs(places.events, "audit_event_id");
  if (child === ":file") return places.pictured.map((place) => ({ id: place.id, file: "avatar.png" }));
  if (child === "transfer" && method === "POST") return moves(places.all);
  if (child === "restore") return places.marked.map((place) => ({ id: place.id }));
  if (method === "DELETE" && path.endsWith("/:id"))
    return places.marked.map((place) => ({ id: place.id, permanently_remove: true, full_path: place.path }));
  return [];
}

/** Groups, most of them subgroups, each with a top-level group to move it into. */
const moves = (groups: readonly Container[]) =>
  groups
    .filter(({ path }) => path.includes("/") || /^(?:club|secret|strict)$/.test(path))
    .flatMap(({ id: inner }) =>
      groups
        .filter(({ path }) => /^(?:open|strict|closed|deep)$/.test(path))
        .map((top) => ({ id: inner, group_id: top.id })),
    );

const pairs = (belongings: readonly Belonging[], name: string) =>
  belongings.flatMap(({ place, id: own }) => [
    { id: place.id, [name]: own },
    { id: place.path, [name]: own },
  ]);
