import { sql } from "kysely";
import { pathNames } from "#http/endpoint.ts";
import { allLines } from "#test/matrix/lines.ts";
import type { Fixture, Parent } from "#test/contract.ts";
import type { TestApp } from "#test/support/app.ts";
import { contracts } from "#test/support/contracts.ts";
import { makeFixtures, makeFixtureContext } from "#test/support/fixtures.ts";
import { isQueried, type Related } from "./related.ts";
import type { Tree } from "./tree.ts";

/** How many containers get each fixture. */
const CONTAINERS = 8;

/**
 * Creates the fixtures of every contract whose tables are still empty, so that a new resource has rows without an edit
 * here, and returns the parameters that belong together in each request. Of a contract without tables of its own those
 * are created whose endpoints no query has values for.
 */
export async function makeChildren(app: TestApp, tree: Tree, callerId: number): Promise<Related> {
  const context = makeFixtureContext(app);
  const related = new Map<string, Record<string, unknown>[]>();
  // Found before any is made, since a fixture may also fill the tables of another contract.
  const empty = [];
  for (const contract of contracts) if (await areEmpty(app, contract.tables ?? [])) empty.push(contract);
  for (const { fixtures = {}, tables } of empty) {
    for (const [fixture, { parents }] of Object.entries(fixtures)) {
      for (const parent of parents) {
        const kind = parent === "top group" ? "group" : parent;
        const endpoints = endpointsOf(fixture, kind);
        if (!tables && endpoints.every(({ key }) => isQueried(key))) continue;
        const places = parentsOf(parent, tree, callerId);
        const made = await makeFixtures(
          context,
          fixture,
          places.map((id) => ({ kind, id, name: "0" })),
        );
        for (const { key, names, sent } of endpoints) {
          const rows = places.map((id, index) => {
            const values = [...(kind === "user" ? [] : [id]), ...(made[index] ?? [])];
            return { ...sent, ...Object.fromEntries(names.map((name, at) => [name, values[at]])) };
          });
          related.set(key, [...(related.get(key) ?? []), ...rows]);
        }
      }
    }
  }
  return related;
}

/** The ids of what gets a fixture; those of users are all for one caller. */
function parentsOf(parent: Fixture["parents"][number], { groups, projects }: Tree, callerId: number): number[] {
  if (parent === "user") return Array.from({ length: CONTAINERS }, () => callerId);
  const places = (parent === "project" ? projects : groups).all;
  return spread(places.filter(({ path }) => parent !== "top group" || !path.includes("/"))).map(({ id }) => id);
}

/** What the links in mails say, by path. */
export async function makeLinks(app: TestApp): Promise<Related> {
  const context = makeFixtureContext(app);
  const values = new Map(contracts.flatMap((contract) => Object.entries(contract.values ?? {})));
  const related = new Map<string, Record<string, unknown>[]>();
  for (const [key, [line]] of Object.entries(allLines)) {
    const [, path = ""] = key.split(" ");
    const [, parameter = "", name = ""] = /^(\w+)=\{(\w+)\}$/.exec(line?.send ?? "") ?? [];
    const make = values.get(name);
    if (!path.startsWith("/-/") || !make) continue;
    const rows = Array.from({ length: CONTAINERS }, async () => ({ [parameter]: await make(context) }));
    related.set(path, await Promise.all(rows));
  }
  return related;
}

/** Some of all containers: the first ones are alike, such as projects of personal namespaces. */
function spread<T>(all: readonly T[]): T[] {
  const step = Math.max(1, Math.floor(all.length / CONTAINERS));
  return all.filter((_, index) => index % step === 0).slice(0, CONTAINERS);
}

async function areEmpty({ services }: TestApp, tables: readonly string[]): Promise<boolean> {
  for (const table of tables) {
    const { rows } = await sql`select from ${sql.table(table)} limit 1`.execute(services.db.write);
    if (rows.length > 0) return false;
  }
  return true;
}

/**
 * The endpoints that name a fixture, by method and path, with the parameters of the container, if it has one, and the
 * fixture, and the ids that a request sends with them.
 */
const endpointsOf = (fixture: string, kind: Parent["kind"]) =>
  Object.entries(allLines).flatMap(([key, lines]) => {
    const sent = idsSent(lines[0]?.send ?? "");
    if (kind === "user")
      return lines.some((line) => line.object === fixture) ? [{ key, names: pathNames(key), sent }] : [];
    const container = lines.map((line) => line.container).find((each) => each?.kind === kind && each.child === fixture);
    if (!container) return [];
    const names = [...pathNames(key), ...(container.childBy === undefined ? [] : [container.childBy])];
    return [{ key, names, sent }];
  });

const idsSent = (parameters: string) =>
  Object.fromEntries(
    [...new URLSearchParams(parameters)].filter(([name, value]) => /_i?id$/.test(name) && !/[*{]/.test(value)),
  );
