/** The files that run jobs get services; those that add and count jobs are one of the services. */
const RUNNING_JOBS = "jobs/{attempt,define,worker}.ts";

const BELOW_SERVICES = ["config.ts", "access", "jobs", "mail", "outbound", "git", "limits", "metrics", "db", "lib"];
const KERNEL = ["services.ts", "http", RUNNING_JOBS, ...BELOW_SERVICES];

/**
 * The order of `src`, written once: the lint fences are generated from it (`npm run generate`), and `tools/imports.ts`
 * counts the imports that break it. A layer may import itself and those listed here, and nothing else of ours.
 */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  "config.ts": ["lib"],
  db: ["lib"],
  metrics: ["config.ts", "db", "lib"],
  limits: ["config.ts", "db", "lib"],
  git: ["config.ts", "lib"],
  mail: ["config.ts", "lib"],
  outbound: ["config.ts", "lib"],
  access: ["config.ts", "db", "lib"],
  jobs: ["config.ts", "db", "lib"],
  "services.ts": BELOW_SERVICES,
  [RUNNING_JOBS]: ["services.ts", "jobs", "config.ts", "db", "lib"],
  http: ["services.ts", ...BELOW_SERVICES],
  domains: KERNEL,
  ssh: ["domains", ...KERNEL],
  commands: ["ssh", "domains", ...KERNEL],
  "main.ts": ["commands", ...KERNEL],
};

/** The domains from the top down: each may import those below it, never one above. */
export const DOMAINS: readonly string[] = [
  "platform",
  "monitoring",
  "infrastructure",
  "activity",
  "review",
  "planning",
  "attention",
  "conversation",
  "code",
  "organization",
  "storage",
  "identity",
  "foundation",
];

/** Packages and modules that only a few places may import, with the pattern of such an import. */
export const PACKAGES: Readonly<Record<string, { readonly pattern: string; readonly places: readonly string[] }>> = {
  fastify: { pattern: "^@?fastify(/|$)", places: ["http"] },
  pg: { pattern: "^pg(-[^b]|/|$)", places: ["db"] },
  "pg-boss": { pattern: "^pg-boss(/|$)", places: ["jobs", "db/engine-schema.ts"] },
  nodemailer: { pattern: "^nodemailer(/|$)", places: ["mail"] },
  ssh2: { pattern: "^ssh2(/|$)", places: ["ssh"] },
  "markdown-it": { pattern: "^(markdown-it|sanitize-html)(/|$)", places: ["lib/markdown"] },
  https: { pattern: "^(node:)?(https|http2)$", places: ["outbound"] },
  child_process: { pattern: "^(node:)?child_process$", places: ["git/process.ts", "db/server.ts"] },
};
