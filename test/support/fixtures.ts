import type { Db } from "#db/database.ts";
import type { Fixture, FixtureContext, Name, Parent } from "#test/contract.ts";
import { group, insert, insertForId } from "#test/matrix/rows.ts";
import type { TestApp } from "./app.ts";
import { contracts } from "./contracts.ts";

/** The fixtures of all contracts. */
export const fixtures: ReadonlyMap<string, Fixture> = new Map(
  contracts.flatMap((contract) => Object.entries(contract.fixtures ?? {})),
);

export function makeFixtureContext(
  { services, call, ...app }: TestApp,
  makeUser: FixtureContext["makeUser"] = app.makeUser,
): FixtureContext {
  const db = services.db.write;
  const known = new Map<string, Promise<unknown>>();
  function once<T>(name: string, make: () => Promise<T>): Promise<T> {
    const made = (known.get(name) as Promise<T> | undefined) ?? make();
    known.set(name, made);
    return made;
  }
  return {
    ...{ db, call, makeUser, once },
    derive: services.sealing.derive,
    person: (name) => once(`person ${name}`, async () => (await makeUser()).id),
    group: (name) => once(`group ${name}`, () => ownedGroup(db, makeUser)),
  };
}

async function ownedGroup(db: Db, makeUser: FixtureContext["makeUser"]): Promise<number> {
  const id = await insertForId(db, "namespaces", group(null));
  await insert(db, "members", [{ group_id: id, user_id: (await makeUser()).id, access_level: 50 }]);
  return id;
}

/** Creates one fixture for each parent, and returns the names of each after that of its parent. */
export async function makeFixtures(
  context: FixtureContext,
  kind: string,
  parents: readonly Parent[],
): Promise<readonly (readonly Name[])[]> {
  const fixture = fixtures.get(kind);
  if (!fixture) throw new Error(`No contract has a fixture for ${kind}`);
  if (parents.length === 0) return [];
  const made = await fixture.make(context, parents);
  return made.map((names) => (Array.isArray(names) ? (names as readonly Name[]) : [names as Name]));
}
