import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { domains } from "#domains/index.ts";
import { DOMAINS } from "#tools/layers.ts";

const root = join(import.meta.dirname, "..");

const IMPORTS = "eslint(no-restricted-imports)";
const PROPERTIES = "eslint(no-restricted-properties)";
const GLOBALS = "eslint(no-restricted-globals)";
const LINES = "eslint(max-lines)";
const FUNCTION_LINES = "eslint(max-lines-per-function)";
const CYCLE = "import(no-cycle)";
const functionOf = (count: number) => `export function work() {\n${"//\n".repeat(count - 2)}}`;
const lines = (count: number) => `export const first = 1;\n${"//\n".repeat(count - 1)}`;

/** One violation per file: the rule that must report it, the file, its text. */
const VIOLATIONS: readonly [rule: string, file: string, text: string][] = [
  [IMPORTS, "src/lib/knows-db.ts", `export { query } from "#db/query.ts";`],
  [IMPORTS, "src/lib/knows-config.ts", `import { config } from "#config.ts"; export const copy = config;`],
  [IMPORTS, "src/lib/knows-later-folder.ts", `import { push } from "#git/push.ts"; export const copy = push;`],
  [IMPORTS, "src/db/knows-http.ts", `import { send } from "#http/send.ts"; export const copy = send;`],
  [IMPORTS, "src/db/knows-services.ts", `import { services } from "#services.ts"; export const copy = services;`],
  [IMPORTS, "src/access/knows-http.ts", `import { send } from "#http/send.ts"; export const copy = send;`],
  [
    IMPORTS,
    "src/access/knows-resource.ts",
    `import { user } from "#domains/identity/users/entity.ts"; export const copy = user;`,
  ],
  [
    IMPORTS,
    "src/domains/identity/users/knows-groups.ts",
    `import { group } from "#domains/organization/groups/entity.ts"; export const copy = group;`,
  ],
  [
    IMPORTS,
    "src/domains/identity/users/knows-ssh.ts",
    `import { ssh } from "#ssh/server.ts"; export const copy = ssh;`,
  ],
  [
    IMPORTS,
    "src/domains/identity/tokens/takes-list.ts",
    `import { all } from "#domains/identity/index.ts"; export const copy = all;`,
  ],
  [
    IMPORTS,
    "src/http/knows-resource.ts",
    `import { user } from "#domains/identity/users/entity.ts"; export const copy = user;`,
  ],
  [
    IMPORTS,
    "src/services.ts",
    `import { user } from "#domains/identity/users/entity.ts"; export const services = user;`,
  ],
  [
    IMPORTS,
    "src/limits/knows-services.ts",
    `import type { services } from "#services.ts"; export type Copy = typeof services;`,
  ],
  [IMPORTS, "src/metrics/knows-http.ts", `import { send } from "#http/send.ts"; export const copy = send;`],
  [
    IMPORTS,
    "src/access/knows-services.ts",
    `import type { services } from "#services.ts"; export type Copy = typeof services;`,
  ],
  [IMPORTS, "src/jobs/add.ts", `import type { services } from "#services.ts"; export type Copy = typeof services;`],
  [IMPORTS, "src/http/knows-tests.ts", `import { help } from "#test/help.ts"; export const copy = help;`],
  [
    IMPORTS,
    "src/domains/identity/tokens/takes-routes.ts",
    `import { users } from "#domains/identity/users/routes.ts"; export const copy = users;`,
  ],
  [
    IMPORTS,
    "src/domains/identity/tokens/takes-jobs.ts",
    `import { mail } from "#domains/identity/users/jobs.ts"; export const copy = mail;`,
  ],
  [
    IMPORTS,
    "src/domains/identity/tokens/takes-index.ts",
    `import { all } from "#domains/index.ts"; export const copy = all;`,
  ],
  [
    IMPORTS,
    "src/domains/identity/tokens/own-code.contract.ts",
    `import { token } from "./entity.ts"; export const contract = token;`,
  ],
  [
    IMPORTS,
    "src/domains/identity/tokens/domain.contract.ts",
    `import { user } from "#domains/identity/users/entity.ts"; export const contract = user;`,
  ],
  [
    IMPORTS,
    "src/domains/identity/tokens/rule.contract.ts",
    `import { rule } from "#access/rule.ts"; export const contract = rule;`,
  ],
  [
    IMPORTS,
    "src/domains/identity/tokens/kernel.contract.ts",
    `import type { send } from "#http/send.ts"; export const contract: typeof send | null = null;`,
  ],
  [IMPORTS, "src/db/fastify.ts", `import fastify from "fastify"; export const copy = fastify;`],
  [
    IMPORTS,
    "src/domains/identity/users/fastify-type.ts",
    `import type { FastifyRequest } from "fastify"; export type Copy = FastifyRequest;`,
  ],
  [IMPORTS, "src/main.ts", `export const late = () => import("fastify");`],
  [IMPORTS, "src/http/pg.ts", `import pg from "pg"; export const copy = pg;`],
  [IMPORTS, "src/domains/identity/users/pg.ts", `import type { Pool } from "pg"; export type Copy = Pool;`],
  [IMPORTS, "src/db/pg-boss.ts", `import { PgBoss } from "pg-boss"; export const copy = PgBoss;`],
  [IMPORTS, "src/domains/identity/users/pg-boss.ts", `import type { Job } from "pg-boss"; export type Copy = Job;`],
  [IMPORTS, "src/jobs/pg.ts", `import type { Pool } from "pg"; export type Copy = Pool;`],
  [IMPORTS, "src/jobs/knows-http.ts", `import { send } from "#http/send.ts"; export const copy = send;`],
  [
    IMPORTS,
    "src/jobs/knows-resource.ts",
    `import { mail } from "#domains/identity/users/jobs.ts"; export const copy = mail;`,
  ],
  [IMPORTS, "src/mail/knows-services.ts", `import { services } from "#services.ts"; export const copy = services;`],
  [IMPORTS, "src/mail/pg.ts", `import type { Pool } from "pg"; export type Copy = Pool;`],
  [
    IMPORTS,
    "src/domains/identity/users/nodemailer.ts",
    `import { createTransport } from "nodemailer"; export const copy = createTransport;`,
  ],
  [IMPORTS, "src/jobs/nodemailer.ts", `export const late = () => import("nodemailer");`],
  [IMPORTS, "src/lib/sanitize.ts", `import sanitize from "sanitize-html"; export const copy = sanitize;`],
  [
    IMPORTS,
    "src/domains/identity/users/markdown.ts",
    `import Markdown from "markdown-it"; export const copy = Markdown;`,
  ],
  [IMPORTS, "src/git/knows-db.ts", `import { query } from "#db/query.ts"; export const copy = query;`],
  [IMPORTS, "src/git/child.ts", `import { spawn } from "node:child_process"; export const copy = spawn;`],
  [IMPORTS, "src/http/ssh2.ts", `import { Server } from "ssh2"; export const copy = Server;`],
  [IMPORTS, "src/ssh/child.ts", `import { spawn } from "node:child_process"; export const copy = spawn;`],
  [
    IMPORTS,
    "src/ssh/takes-routes.ts",
    `import { users } from "#domains/identity/users/routes.ts"; export const copy = users;`,
  ],
  [IMPORTS, "src/db/child.ts", `import { spawn } from "node:child_process"; export const copy = spawn;`],
  ["unicorn(prefer-node-protocol)", "src/http/prefix.ts", `import { join } from "path"; export const copy = join;`],
  [IMPORTS, "src/http/env-import.ts", `import { env } from "node:process"; export const copy = env;`],
  [IMPORTS, "src/http/require.ts", `import { createRequire } from "node:module"; export const copy = createRequire;`],
  [IMPORTS, "src/domains/identity/users/https.ts", `import { get } from "node:https"; export const copy = get;`],
  [GLOBALS, "src/jobs/fetch.ts", `export const copy = (url: string) => fetch(url);`],
  [IMPORTS, "src/outbound/knows-db.ts", `import { query } from "#db/query.ts"; export const copy = query;`],
  [PROPERTIES, "src/lib/judges-time.test.ts", `export const began = performance.now();`],
  [PROPERTIES, "test/conventions/judges-memory.test.ts", `export const { rss } = process.memoryUsage();`],
  [PROPERTIES, "src/http/env.ts", `export const copy = process.env["HOME"];`],
  [PROPERTIES, "src/db/env-taken.ts", `const { env } = process; export const copy = env;`],
  [PROPERTIES, "src/lib/env-global.ts", `export const copy = globalThis.process.env;`],
  [PROPERTIES, "src/lib/builtin.ts", `export const copy = process.getBuiltinModule("node:fs");`],
  [
    "import(no-relative-parent-imports)",
    "src/db/parent.ts",
    `import { text } from "../lib/text.ts"; export const copy = text;`,
  ],
  ["import(no-default-export)", "src/lib/default.ts", `const text = ""; export default text;`],
  ["oxc(no-barrel-file)", "src/lib/barrel.ts", `export * from "./text.ts";`],
  [CYCLE, "src/lib/chicken.ts", `import { egg } from "./egg.ts"; export const chicken = () => egg;`],
  [
    CYCLE,
    "src/domains/identity/users/circle.ts",
    `import { other } from "#domains/identity/tokens/circle.ts"; export const circle = () => other;`,
  ],
  [
    "typescript(no-floating-promises)",
    "src/lib/floating.ts",
    `async function work() {}\nexport const start = () => { work(); };`,
  ],
  [
    "typescript(consistent-type-imports)",
    "src/lib/import-type.ts",
    `export type Copy = import("fastify").FastifyRequest;`,
  ],
  [LINES, "src/http/long.ts", lines(301)],
  [FUNCTION_LINES, "src/http/long-function.ts", functionOf(61)],
  [FUNCTION_LINES, "src/git/long-function.ts", functionOf(61)],
  [FUNCTION_LINES, "src/domains/identity/users/long-function.ts", functionOf(61)],
];

/** Files that the same rules must accept. */
const ALLOWED: Readonly<Record<string, string>> = {
  "src/lib/text.ts": `export const text = "";`,
  "src/lib/egg.ts": `import { chicken } from "./chicken.ts"; export const egg = () => chicken;`,
  "src/lib/long.ts": lines(300),
  "src/http/function.ts": functionOf(60),
  "src/http/function.test.ts": functionOf(200),
  "src/config.ts": `export const config = process.env;`,
  "src/db/query.ts": `import pg from "pg"; import { text } from "#lib/text.ts"; export const query = { pg, text };`,
  "src/db/server.ts": `import { spawn } from "node:child_process"; export const start = spawn;`,
  "src/db/types.ts": lines(400),
  "src/jobs/engine.ts": `import { PgBoss } from "pg-boss"; import { query } from "#db/query.ts"; export const engine = { PgBoss, query };`,
  "src/mail/transport.ts": `import { createTransport } from "nodemailer"; import { config } from "#config.ts"; import { text } from "#lib/text.ts"; export const mail = { createTransport, config, text };`,
  "src/lib/markdown/parse.ts": `import Markdown from "markdown-it"; export const copy = Markdown;`,
  "src/outbound/exchange.ts": `import { request } from "node:https"; import { text } from "#lib/text.ts"; export const exchange = { request, text };`,
  "src/git/process.ts": `import { spawn } from "node:child_process"; import { text } from "#lib/text.ts"; export const git = { spawn, text };`,
  "src/ssh/server.ts": `import { Server } from "ssh2"; import { user } from "#domains/identity/users/entity.ts"; export const ssh = { Server, user };`,
  "src/access/rule.ts": `import { query } from "#db/query.ts"; export const rule = query;`,
  "src/http/send.ts": `import fastify from "fastify"; import { rule } from "#access/rule.ts"; export const send = { fastify, rule };`,
  "src/http/send.test.ts": `import { spawn } from "node:child_process"; import { help } from "#test/help.ts"; export const copy = { spawn, help };`,
  "src/domains/index.ts": `import { users } from "./users/routes.ts"; export const all = [users];`,
  "src/domains/identity/index.ts": `import { users } from "./users/routes.ts"; export const all = { users };`,
  "src/domains/identity/users/entity.ts": `export const user = "";`,
  "src/domains/organization/groups/entity.ts": `import { user } from "#domains/identity/users/entity.ts"; export const group = user;`,
  "src/domains/identity/users/routes.ts": `import { user } from "./entity.ts"; import { send } from "#http/send.ts"; export const users = { user, send };`,
  "src/domains/identity/users/jobs.ts": `export const mail = "";`,
  "src/domains/identity/tokens/entity.ts": `import { user } from "#domains/identity/users/entity.ts"; export const token = user;`,
  "src/domains/identity/tokens/tokens.contract.ts": `import { help } from "#test/help.ts"; import { sql } from "kysely"; export const contract = { help, sql };`,
  "src/domains/identity/tokens/circle.ts": `import { circle } from "#domains/identity/users/circle.ts"; export const other = () => circle;`,
  "src/lib/judged.timed.test.ts": `export const began = performance.now();`,
  "test/help.ts": `import pg from "pg"; import { spawn } from "node:child_process"; export const help = { pg, spawn, env: process.env };`,
};

/** Files that are only part of the circle that the planted file closes. */
const CLOSED = ["src/lib/egg.ts", "src/domains/identity/tokens/circle.ts"];

describe("fences", () => {
  let project: string;
  let reported: Map<string, string[]>;

  before(() => {
    project = mkdtempSync(join(tmpdir(), "fairlead-fences-"));
    for (const file of [".oxlintrc.json", "package.json", "tsconfig.json"])
      copyFileSync(join(root, file), join(project, file));
    symlinkSync(join(root, "node_modules"), join(project, "node_modules"));
    for (const [, file, text] of VIOLATIONS) plant(file, text);
    for (const [file, text] of Object.entries(ALLOWED)) plant(file, text);
    reported = lint();
  });
  after(() => rmSync(project, { recursive: true }));

  const plant = (file: string, text: string) => {
    mkdirSync(dirname(join(project, file)), { recursive: true });
    writeFileSync(join(project, file), `${text.trimEnd()}\n`);
  };

  const program = (...args: string[]) => spawnSync(process.execPath, args, { cwd: project, encoding: "utf8" });

  const lint = () => {
    const { stdout } = program("node_modules/oxlint/bin/oxlint", "--format=json", "src", "test");
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string; filename: string }[] };
    const named = diagnostics.map(({ code, filename }) => ({ code, file: filename }));
    return new Map(
      [...Map.groupBy(named, ({ file }) => file)].map(([file, found]) => [
        file,
        [...new Set(found.map(({ code }) => code))],
      ]),
    );
  };

  for (const [rule, file] of VIOLATIONS) {
    test(`${file} is reported by ${rule}`, () => assert.deepEqual(reported.get(file), [rule]));
  }

  for (const file of Object.keys(ALLOWED)) {
    test(`${file} is accepted`, () =>
      assert.deepEqual(reported.get(file), CLOSED.includes(file) ? [CYCLE] : undefined));
  }

  test("an enum is refused by the compiler", () => {
    plant("src/lib/enum.ts", "export enum Colour { Red }");
    const { stdout } = program("node_modules/typescript/bin/tsc", "--noEmit", "--pretty", "false");
    assert.match(stdout, /src\/lib\/enum\.ts\(1,13\): error TS1294/);
  });
});

describe("the order of imports", () => {
  /** The output of `tools/imports.ts` for a project with these files. */
  const report = (files: Readonly<Record<string, string>>) => {
    const project = mkdtempSync(join(tmpdir(), "fairlead-imports-"));
    try {
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(project, "src", file)), { recursive: true });
        writeFileSync(join(project, "src", file), text);
      }
      const tool = join(root, "tools/imports.ts");
      const { status, stdout } = spawnSync(process.execPath, [tool], { cwd: project, encoding: "utf8" });
      return { status, lines: stdout.trimEnd().split("\n") };
    } finally {
      rmSync(project, { recursive: true });
    }
  };
  const importing = (name: string) => `import { x } from "${name}"; export const y = x;`;

  test("is the order in which the contributions of domains are merged", () => {
    assert.deepEqual(Object.keys(domains).toReversed(), DOMAINS);
  });

  test("an import of a domain below and of the kernel is accepted", () => {
    const files = {
      "domains/index.ts": importing("./identity/users/routes.ts"),
      "domains/identity/users/routes.ts": importing("#http/endpoint.ts"),
      "domains/organization/groups/entity.ts": importing("#domains/identity/users/entity.ts"),
    };
    assert.deepEqual(report(files), {
      status: 0,
      lines: ["0 imports upward, 0 circles between resource folders"],
    });
  });

  test("an import of a domain above, or of any by the kernel, is counted", () => {
    const files = {
      "db/errors.ts": importing("#domains/identity/users/entity.ts"),
      "domains/identity/users/actions.ts": importing("#domains/organization/groups/actions.ts"),
      "domains/nowhere/things/actions.ts": importing("#domains/nowhere/others/actions.ts"),
    };
    assert.deepEqual(report(files), {
      status: 1,
      lines: [
        "src/db/errors.ts may not import src/domains/identity/users/entity.ts",
        "src/domains/identity/users/actions.ts may not import src/domains/organization/groups/actions.ts",
        "src/domains/nowhere/things/actions.ts may not import src/domains/nowhere/others/actions.ts",
        "3 imports upward, 0 circles between resource folders",
      ],
    });
  });

  test("folders that import each other are counted, although no files do", () => {
    const files = {
      "domains/identity/users/actions.ts": importing("#domains/identity/tokens/queries.ts"),
      "domains/identity/tokens/actions.ts": importing("#domains/identity/keys/queries.ts"),
      "domains/identity/keys/actions.ts": importing("#domains/identity/users/queries.ts"),
      "domains/code/tags/actions.ts": `export const late = () => import("#domains/code/trees/list.ts");`,
      "domains/code/trees/actions.ts": importing("#domains/code/tags/queries.ts"),
    };
    assert.deepEqual(report(files), {
      status: 1,
      lines: [
        "these import each other: code/tags, code/trees",
        "these import each other: identity/keys, identity/tokens, identity/users",
        "0 imports upward, 2 circles between resource folders",
      ],
    });
  });
});
