import { testApp } from "#test/support/app.ts";
import type { Outcome } from "#test/support/campaign.ts";
import { randomOf } from "#test/support/random.ts";
import { CHANGES, CHANGES_OF_RIGHTS } from "./changes.ts";
import { CREATIONS } from "./creations.ts";
import { readProblems } from "./reads.ts";
import { makeWorld } from "./world.ts";
import { WriteRefused } from "./write-context.ts";

/** Writes, changes of rights and reads, so many together, or fewer if a read is answered wrong. */
export async function runSession(databaseUrl: string, seed: number, steps: number): Promise<Outcome> {
  const app = await testApp({ databaseUrl });
  try {
    const random = randomOf(seed);
    const world = await makeWorld(app, random);
    const problems: string[] = [];
    let [requests, writes] = [0, 0];
    for (; requests < steps && problems.length === 0; requests++) {
      if (random.chance(0.6)) {
        problems.push(...(await readProblems(app, random, world)));
        continue;
      }
      const kinds = random.pick([CREATIONS, CREATIONS, CHANGES, CHANGES_OF_RIGHTS]);
      problems.push(...(await refusalOf(random.pick(kinds)({ app, random, world }))));
      writes++;
    }
    return { requests, writes, problems };
  } finally {
    await app.close();
  }
}

async function refusalOf(write: Promise<void>): Promise<string[]> {
  try {
    await write;
    return [];
  } catch (error) {
    if (error instanceof WriteRefused) return [error.message];
    throw error;
  }
}
