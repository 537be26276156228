import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { POSTGRES_VARIABLE } from "#test/support/postgres.ts";
import { EARLY_PLANTS, PLANTS } from "./plants.ts";

/** The line of the report for each defect; a run that fails for another reason proves nothing. */
export const REPORTED_AS: Readonly<Record<string, RegExp>> = {
  "nul-into-sql": /personalAccessTokens\.createForUser: status 500: invalid byte sequence for encoding "UTFN": NxN/,
  "big-id": /personalAccessTokens\.get: status 500: value .* is out of range for type bigint/,
  "late-date": /users\.list: status 500: timestamp out of range/,
  "huge-number": /personalAccessTokens\.list: status 500: value overflows numeric format/,
  "long-key": /personalAccessTokens\.createOwn: status 500: index row size N exceeds/,
  "big-ids": /groupMembers\.add: status 500: value .* is out of range for type bigint/,
  "long-address": /groups\.get: status 500: planted/,
  "wrong-place": /a group is not below its parent/,
  "silent-write": /projects\.share: status 304 for a write/,
  throw: /users\.list: status 500: planted/,
  "leak-password": /users\.create: a password is in the answer/,
  "leak-token": /versions\.version: a token of a caller is in the answer/,
  "log-password": /the log holds a secret/,
  "leak-session": /sessions\.list: a digest is in the answer/,
  "secret-again": /userStatuses\.getOwn: a secret that another answer made is in the answer/,
  "stray-cookie": /keys\.listOwn: a cookie where no session begins or ends/,
  "log-link": /the log holds a mailed link/,
  "cookie-alone": /a caller who proves nothing is taken for a user/,
  "wrong-shape": /users\.current: the answer does not fit its schema/,
  "extra-field": /personalAccessTokens\.getSelf: the answer does not fit its schema: \/token_digest/,
  "wrong-type": /versions\.metadata: type text\/html instead of application\/json/,
  "wrong-status": /personalAccessTokens\.rotateSelf: status 201 instead of 200/,
  "newline-in-ref": /trees\.list: status 500: planted/,
  "expression-to-git": /commits\.get: what names nothing is taken for a name/,
  "path-in-error": /archives\.getZip: a path of the disk is in the answer/,
  "left-push": /a push is left unfinished/,
  "left-process": /a git process is left/,
  "broken-object": /a repository is damaged/,
  "file-beside": /planted is written beside the repositories/,
  unhandled: /unhandled rejection: planted/,
  pollute: /a prototype was changed/,
  block: /users\.list: blocks the event loop/,
  slow: /users\.list: slower than 1 s/,
  hang: /a process hangs/,
};

/** The operations with planted defects; the others would only take time. */
const PLANTED =
  "^(users.(list|current|create)|personalAccessTokens|versions|health|groupMembers.add|groups.(get|transfer)|" +
  "projects.share|sessions.list|secondFactors.begin|userStatuses.getOwn|keys.listOwn|accounts.confirmPage|" +
  "trees.list|commits.get|archives.getZip|branches.create|tags.create)";

/** Runs the fuzzer as a process of its own. */
export async function fuzz(postgres: string, ...options: string[]) {
  const flags = process.execArgv.filter((flag) => !flag.startsWith("--test"));
  const child = spawn(process.execPath, [...flags, join(import.meta.dirname, "run.ts"), ...options], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, [POSTGRES_VARIABLE]: postgres },
  });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, "close")) as [number | null];
  const lines = Buffer.concat(chunks).toString("utf8").trimEnd().split("\n");
  const causes = lines.filter((line) => line.startsWith("FAILED ")).join("\n");
  const isRed = code === 1 && /^fuzz: \d+ passed, [1-9]\d* failed$/.test(lines.at(-1) ?? "");
  return { code, isRed, causes, text: lines.join("\n") };
}

/** Plants every defect and expects the report to have each; returns how many it has, and how many it lacks. */
export async function findEveryPlant(postgres: string): Promise<[passed: number, failed: number]> {
  const names = [...Object.keys(PLANTS), ...Object.keys(EARLY_PLANTS)].filter((name) => name !== "hang");
  // Most are planted together where they do not hide each other, since starting takes longer than finding.
  const [together, hang] = await Promise.all([
    fuzz(postgres, "--cases", "3500", "--seed", "1", "--operations", PLANTED, "--plant", names.join(",")),
    fuzz(postgres, "--operations", "users.list", "--seed", "1", "--plant", "hang"),
  ]);
  const missed = [
    ...names.filter((name) => !together.isRed || !REPORTED_AS[name]?.test(together.causes)),
    ...(hang.isRed && REPORTED_AS["hang"]?.test(hang.causes) ? [] : ["hang"]),
  ];
  if (missed.length > 0) console.log(`${together.text}\n${hang.text}`);
  for (const name of missed) console.log(`FAILED the fuzzer does not find ${name}`);
  return [names.length + 1 - missed.length, missed.length];
}
