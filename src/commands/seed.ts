import { parseArgs } from "node:util";
import { readConfig } from "#config.ts";
import { seedUsers } from "#db/seed.ts";
import { seedTree, treeSize } from "#db/seed-tree.ts";
import { withDatabase } from "./database.ts";
import { print, withProgress } from "./output.ts";

const UNITS: Record<string, number> = { "": 1, k: 1000, m: 1_000_000 };
const MOST = 100_000_000;

/** Fills a database with made-up users, groups and projects; the same counts give the same ones. */
export async function seed(args: string[]) {
  const { values } = parseArgs({
    args,
    options: { users: { type: "string", default: "1000" }, projects: { type: "string", default: "2000" } },
  });
  const users = countOf(values.users);
  const size = treeSize(countOf(values.projects));
  await withDatabase(readConfig(), async (url) => {
    const began = Date.now();
    if (users > 0) await withProgress(`Making ${users} users`, (tell) => seedUsers(url, users, tell));
    if (size.projects > 0) await withProgress(`Making ${size.projects} projects`, (tell) => seedTree(url, size, tell));
    print(`Made ${users} users and ${size.projects} projects in ${Math.round((Date.now() - began) / 1000)} s.`);
  });
}

function countOf(text: string): number {
  const [, digits, unit = ""] = /^(\d+)([km]?)$/i.exec(text) ?? [];
  const count = Number(digits) * (UNITS[unit.toLowerCase()] ?? 1);
  if (!(count >= 0 && count <= MOST)) {
    throw new Error("usage: fairlead seed --users N --projects N, such as 0, 1000, 50k or 1m");
  }
  return count;
}
