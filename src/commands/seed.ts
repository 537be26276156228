import { parseArgs } from "node:util";
import { readConfig } from "#config.ts";
import { seedUsers } from "#db/seed.ts";
import { withDatabase } from "./database.ts";
import { print, withProgress } from "./output.ts";

const UNITS: Record<string, number> = { "": 1, k: 1000, m: 1_000_000 };
const MOST = 100_000_000;

/** Fills a database with made-up users; the same count gives the same users. */
export async function seed(args: string[]) {
  const { values } = parseArgs({ args, options: { users: { type: "string", default: "1000" } } });
  const [, digits, unit = ""] = /^(\d+)([km]?)$/i.exec(values.users) ?? [];
  const count = Number(digits) * (UNITS[unit.toLowerCase()] ?? 1);
  if (!(count > 0 && count <= MOST)) throw new Error("usage: fairlead seed --users N, such as 1000, 50k or 1m");
  await withDatabase(readConfig(), async (url) => {
    const began = Date.now();
    await withProgress(`Making ${count} users`, (tell) => seedUsers(url, count, tell));
    print(`Made ${count} users in ${Math.round((Date.now() - began) / 1000)} s.`);
  });
}
