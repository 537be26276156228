import { parseArgs } from "node:util";
import { readConfig } from "#config.ts";
import { seedUsers } from "#db/seed.ts";
import { seedTokens } from "#db/seed-tokens.ts";
import { seedTree, treeSize } from "#db/seed-tree.ts";
import { withDatabase } from "./database.ts";
import { print, withProgress } from "./output.ts";

const UNITS: Record<string, number> = { "": 1, k: 1000, m: 1_000_000 };
const MOST = 100_000_000;

/** Fills a database with made-up users, groups, projects and tokens; the same counts give the same ones. */
export async function seed(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      users: { type: "string", default: "1000" },
      projects: { type: "string", default: "2000" },
      tokens: { type: "string", default: "0" },
    },
  });
  const users = countOf(values.users);
  const size = treeSize(countOf(values.projects));
  const tokens = countOf(values.tokens);
  await withDatabase(readConfig(), async (url) => {
    const began = Date.now();
    if (users > 0) await withProgress(`Making ${users} users`, (tell) => seedUsers(url, users, tell));
    if (size.projects > 0) await withProgress(`Making ${size.projects} projects`, (tell) => seedTree(url, size, tell));
    if (tokens > 0) await withProgress(`Making ${tokens} tokens`, (tell) => seedTokens(url, tokens, tell));
    const made = `${users} users, ${size.projects} projects and ${tokens} tokens`;
    print(`Made ${made} in ${Math.round((Date.now() - began) / 1000)} s.`);
  });
}

function countOf(text: string): number {
  const [, digits, unit = ""] = /^(\d+)([km]?)$/i.exec(text) ?? [];
  const count = Number(digits) * (UNITS[unit.toLowerCase()] ?? 1);
  if (!(count >= 0 && count <= MOST)) {
    throw new Error("usage: fairlead seed --users N --projects N --tokens N, such as 0, 1000, 50k or 1m");
  }
  return count;
}
