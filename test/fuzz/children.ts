import { sql } from "kysely";
import { pathNames } from "#http/endpoint.ts";
import { allLines } from "#test/matrix/lines.ts";
import type { TestApp } from "#test/support/app.ts";
import { contracts } from "#test/support/contracts.ts";
import { makeFixtures, makeFixtureContext } from "#test/support/fixtures.ts";
import type { Related } from "./related.ts";
import type { Tree } from "./tree.ts";

/** How many containers get each fixture. */
const CONTAINERS = 8;

/**
 * Creates the fixtures of every contract whose tables are still empty, so that a new resource has rows without an edit
 * here, and returns the parameters that belong together in each request.
 */
export async function makeChildren(app: TestApp, { groups, projects }: Tree): Promise<Related> {
  const context = makeFixtureContext(app);
  const related = new Map<string, Record<string, unknown>[]>();
  // Found before any is made, since a fixture may also fill the tables of another contract.
  const empty = [];
  for (const contract of contracts) if (await areEmpty(app, contract.tables ?? [])) empty.push(contract);
  for (const { fixtures = {} } of empty) {
    for (const [fixture, { parents }] of Object.entries(fixtures)) {
      for (const parent of parents) {
        if (parent === "user") continue;
        const kind = parent === "project" ? "project" : "group";
        const places = spread(
          (kind === "project" ? projects : groups).all.filter(
            ({ path }) => parent !== "top group" || !path.includes("/"),
          ),
        );
        const made = await makeFixtures(
          context,
          fixture,
          places.map(({ id }) => ({ kind, id, name: "0" })),
        );
        for (const { key, names, sent } of endpointsOf(fixture, kind)) {
          const [first = "", ...behind] = names;
          const rows = places.map(({ id }, index) => ({
            ...sent,
            [first]: id,
            ...Object.fromEntries(behind.map((name, at) => [name, made[index]?.[at]])),
          }));
          related.set(key, [...(related.get(key) ?? []), ...rows]);
        }
      }
    }
  }
  return related;
}

/** Some of all containers: the first ones are alike, such as projects of personal namespaces. */
function spread<T>(all: readonly T[]): T[] {
  const step = Math.max(1, Math.floor(all.length / CONTAINERS));
  return all.filter((_, index) => index % step === 0).slice(0, CONTAINERS);
}

async function areEmpty({ services }: TestApp, tables: readonly string[]): Promise<boolean> {
  if (tables.length === 0) return false;
  for (const table of tables) {
    const { rows } = await sql`select from ${sql.table(table)} limit 1`.execute(services.db.write);
    if (rows.length > 0) return false;
  }
  return true;
}

/**
 * The endpoints that name a fixture, by method and path, with the parameters of the container and the fixture, and the
 * ids that a request sends with them.
 */
const endpointsOf = (fixture: string, kind: "group" | "project") =>
  Object.entries(allLines).flatMap(([key, lines]) => {
    const container = lines.map((line) => line.container).find((each) => each?.kind === kind && each.child === fixture);
    if (!container) return [];
    const names = [...pathNames(key), ...(container.childBy === undefined ? [] : [container.childBy])];
    return [{ key, names, sent: idsSent(lines[0]?.send ?? "") }];
  });

const idsSent = (parameters: string) =>
  Object.fromEntries(
    [...new URLSearchParams(parameters)].filter(([name, value]) => /_i?id$/.test(name) && !/[*{]/.test(value)),
  );
