import { resolve } from "node:path";
import {
  address,
  BadSetting,
  counts,
  directories,
  list,
  oneOf,
  onOff,
  optional,
  pairs,
  portOrOff,
  type Setting,
  text,
  whole,
} from "#lib/setting.ts";

/** The whole configuration: names, defaults, checks and documentation in one place. */
const settings = {
  databaseUrl: optional(
    "FAIRLEAD_DATABASE_URL",
    "PostgreSQL to use; without it a trial engine is started in the data directory",
    true,
  ),
  dataDir: {
    ...text(
      "FAIRLEAD_DATA_DIR",
      "data",
      "Where the sealing key, uploaded files, repositories and the trial engine's data live",
    ),
    read: (value) => resolve(value ?? "data"),
  } satisfies Setting<string>,
  host: text("FAIRLEAD_HOST", "127.0.0.1", "Address to listen on"),
  port: whole("FAIRLEAD_PORT", 8080, "Port to listen on; 0 takes a free one", [0, 65535]),
  externalUrl: address(
    "FAIRLEAD_EXTERNAL_URL",
    "The address people use, for links; without it each caller's own host is used, if it is allowed",
  ),
  allowedHosts: list(
    "FAIRLEAD_ALLOWED_HOSTS",
    [],
    "Host names that may stand in links, beside loopback and the external address; * allows any",
  ),
  trustedProxies: list("FAIRLEAD_TRUSTED_PROXIES", [], "Addresses or networks whose X-Forwarded headers are believed"),
  sshHost: text("FAIRLEAD_SSH_HOST", "127.0.0.1", "Address to listen on for SSH"),
  sshPort: portOrOff("FAIRLEAD_SSH_PORT", 2222, "Port to listen on for SSH; 0 takes a free one, off serves none"),
  sshUrl: {
    ...optional(
      "FAIRLEAD_SSH_URL",
      "The address people use for SSH, as ssh://git@host:port; without it git at the host of links, and the port above",
    ),
    read(value) {
      const url = value === undefined ? undefined : URL.parse(value);
      if (url === undefined) return undefined;
      if (
        !url ||
        url.protocol !== "ssh:" ||
        url.hostname === "" ||
        url.username === "" ||
        !/^\/?$/.test(url.pathname)
      ) {
        throw new BadSetting("must be like ssh://git@host:port");
      }
      return value;
    },
  } satisfies Setting<string | undefined>,
  offering: oneOf(
    "FAIRLEAD_OFFERING",
    ["all", "self-managed", "dedicated", "hosted"],
    "all",
    "Serve only what this offering has",
  ),
  plan: oneOf("FAIRLEAD_PLAN", ["free", "premium", "ultimate"], "ultimate", "Serve only what this plan has"),
  rootToken: optional("FAIRLEAD_ROOT_TOKEN", "First administrator's token; acts only on an empty database", true),
  rootPassword: optional(
    "FAIRLEAD_ROOT_PASSWORD",
    "First administrator's password; acts only on an empty database",
    true,
  ),
  rateLimits: onOff("FAIRLEAD_RATE_LIMITS", "on", "Limit how often one caller may ask"),
  rateLimitUser: whole("FAIRLEAD_RATE_LIMIT_USER", 2000, "Requests a minute for a signed-in user", [1, 2 ** 31 - 1]),
  rateLimitAddress: whole(
    "FAIRLEAD_RATE_LIMIT_ADDRESS",
    500,
    "Requests a minute for an IPv4 address or an IPv6 /64 that is not signed in",
    [1, 2 ** 31 - 1],
  ),
  smtpUrl: {
    ...optional(
      "FAIRLEAD_SMTP_URL",
      "Server that mail is sent by, as smtp://user:password@host:port or smtps://…; without it mail is written to the log",
      true,
    ),
    read(value) {
      if (value !== undefined && !/^smtps?:$/.test(URL.parse(value)?.protocol ?? "")) {
        throw new BadSetting("must be an smtp or smtps address");
      }
      return value;
    },
  } satisfies Setting<string | undefined>,
  mailFrom: text("FAIRLEAD_MAIL_FROM", "Fairlead <fairlead@localhost>", "Sender of mail"),
  dnsServers: list(
    "FAIRLEAD_DNS_SERVERS",
    [],
    "DNS servers to ask for the records of verified domains; the system's by default",
  ),
  maxConnections: whole(
    "FAIRLEAD_MAX_CONNECTIONS",
    4000,
    "HTTP connections that a process keeps open; one network may have a quarter, loopback and trusted proxies all",
    [10, 100_000],
  ),
  maxUnsentBytes: whole(
    "FAIRLEAD_MAX_UNSENT_BYTES",
    128 * 2 ** 20,
    "Bytes of answers that a process holds for callers who have not taken them; one caller may hold a quarter",
    [2 ** 20, 2 ** 40],
  ),
  metricsAllow: list(
    "FAIRLEAD_METRICS_ALLOW",
    [],
    "Addresses that may read metrics and detailed readiness, beside loopback",
  ),
  poolSize: whole("FAIRLEAD_POOL_SIZE", 8, "Connections a process holds for lists and writes", [1, 100]),
  statementTimeout: whole(
    "FAIRLEAD_STATEMENT_TIMEOUT",
    5000,
    "Milliseconds after which a statement is given up",
    [100, 600_000],
  ),
  storages: directories(
    "FAIRLEAD_STORAGES",
    "default=data/repositories",
    "Directories that repositories are kept in, each with the name of its storage; without it one in the data directory",
  ),
  searchPath: text("PATH", "/usr/local/bin:/usr/bin:/bin", "Where git is looked for"),
  gitProcesses: whole(
    "FAIRLEAD_GIT_PROCESSES",
    32,
    "Clones and pushes that a process serves at once, a quarter of them for one user, and as many short looks into repositories; eight times as many wait",
    [1, 1000],
  ),
  gitMemory: whole(
    "FAIRLEAD_GIT_MEMORY",
    2 * 2 ** 30,
    "Bytes that a git process of a clone, a push or maintenance may allocate",
    [64 * 2 ** 20, 2 ** 40],
  ),
  gitMaxPack: whole("FAIRLEAD_GIT_MAX_PACK", 5 * 2 ** 30, "Bytes that one push may send", [2 ** 20, 2 ** 40]),
  jobConcurrency: counts(
    "FAIRLEAD_JOB_CONCURRENCY",
    { critical: 5, default: 10, git: 2, bulk: 2, ingest: 20, mail: 5 },
    "Jobs of each queue that a worker runs at once",
  ),
  logLevel: oneOf(
    "FAIRLEAD_LOG_LEVEL",
    ["debug", "info", "warn", "error", "silent"],
    "info",
    "Least level that is logged",
  ),
  fips: onOff("FAIRLEAD_FIPS", "off", "Leave out what a FIPS installation may not show"),
};

type Read<S> = S extends Setting<infer T> ? T : never;
export type Config = { readonly [K in keyof typeof settings]: Read<(typeof settings)[K]> };

/** Reads and checks every setting; all problems are told at once. */
export function readConfig(env: Record<string, string | undefined> = process.env): Config {
  const problems: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(settings)) {
    const value = env[setting.env]?.trim();
    try {
      config[name] = setting.read(value === "" ? undefined : value);
    } catch (error) {
      if (!(error instanceof BadSetting)) throw error;
      problems.push(`${setting.env} ${error.message}`);
    }
  }
  const known = new Set(Object.values(settings).map((setting) => setting.env));
  for (const name of Object.keys(env)) {
    if (name.startsWith("FAIRLEAD_") && !known.has(name))
      problems.push(`${name} is not a setting (see 'fairlead config')`);
  }
  if (problems.length > 0) throw new Error(`Configuration: ${problems.join("; ")}`);
  return Object.freeze(config) as Config;
}

/** What sshd tells the command that it runs for a key. */
export const readSshRequest = (env: Record<string, string | undefined> = process.env) => ({
  command: env["SSH_ORIGINAL_COMMAND"],
  protocol: env["GIT_PROTOCOL"],
  address: env["SSH_CONNECTION"]?.split(" ", 1)[0],
});

/** What `fairlead config` prints and the documentation lists; secrets show only whether they are set. */
export const describeSettings = (config?: Config) =>
  Object.entries(settings).map(([name, setting]) => {
    const value: unknown = config?.[name as keyof Config];
    const shown = Array.isArray(value)
      ? value.join(",")
      : typeof value === "object"
        ? pairs(value as Record<string, number | string>)
        : String(value ?? "");
    return {
      env: setting.env,
      about: setting.about,
      fallback: setting.shownDefault,
      value: "secret" in setting && value !== undefined ? "(set)" : shown,
    };
  });
