import { resolve } from "node:path";
import {
  address,
  BadSetting,
  counts,
  directories,
  list,
  networks,
  oneOf,
  onOff,
  optional,
  pairs,
  portOrOff,
  servers,
  type Setting,
  text,
  wholeNumber,
} from "#lib/setting.ts";

/** The whole configuration: names, defaults, checks and documentation in one place. */
const settings = {
  databaseUrl: {
    ...optional(
      "FAIRLEAD_DATABASE_URL",
      "PostgreSQL to use; without it a trial server is started in the data directory",
      true,
    ),
    read(value) {
      if (value !== undefined && !/^postgres(?:ql)?:$/.test(URL.parse(value)?.protocol ?? "")) {
        throw new BadSetting(
          "must be like postgres://user:password@host:5432/database, with special characters as %20",
        );
      }
      return value;
    },
  } satisfies Setting<string | undefined>,
  dataDir: {
    ...text(
      "FAIRLEAD_DATA_DIR",
      "data",
      "Directory of the sealing key, uploaded files, repositories and the trial server's data",
    ),
    read: (value) => resolve(value ?? "data"),
  } satisfies Setting<string>,
  host: text("FAIRLEAD_HOST", "127.0.0.1", "Address to listen on"),
  port: wholeNumber("FAIRLEAD_PORT", 8080, "Port to listen on; 0 chooses a free one", [0, 65535]),
  externalUrl: address(
    "FAIRLEAD_EXTERNAL_URL",
    "URL of the site, for links; without it links use the host of each request, if that is allowed",
  ),
  allowedHosts: list(
    "FAIRLEAD_ALLOWED_HOSTS",
    [],
    "Host names that links may use, besides loopback and the external URL; * allows any",
  ),
  trustedProxies: networks("FAIRLEAD_TRUSTED_PROXIES", "Addresses or networks whose X-Forwarded headers are trusted"),
  sshHost: text("FAIRLEAD_SSH_HOST", "127.0.0.1", "Address to listen on for SSH"),
  sshPort: portOrOff("FAIRLEAD_SSH_PORT", 2222, "Port to listen on for SSH; 0 chooses a free one, off disables SSH"),
  sshUrl: {
    ...optional(
      "FAIRLEAD_SSH_URL",
      "URL that clones over SSH use, as ssh://git@host:port; without it git at the host of links and the port above",
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
    "Serve only the endpoints and fields of this offering",
  ),
  plan: oneOf(
    "FAIRLEAD_PLAN",
    ["free", "premium", "ultimate"],
    "ultimate",
    "Serve only the endpoints and fields of this plan",
  ),
  rootToken: optional("FAIRLEAD_ROOT_TOKEN", "First administrator's token; used only with an empty database", true),
  rootPassword: optional(
    "FAIRLEAD_ROOT_PASSWORD",
    "First administrator's password; used only with an empty database",
    true,
  ),
  rateLimits: onOff("FAIRLEAD_RATE_LIMITS", "on", "Limit how many requests one caller may send"),
  contentLimitUser: wholeNumber(
    "FAIRLEAD_CONTENT_LIMIT_USER",
    2 ** 25,
    "Characters of issues, comments and everything else outside repositories that a user may store in a minute",
    [2 ** 20, 2 ** 31 - 1],
  ),
  rateLimitUser: wholeNumber("FAIRLEAD_RATE_LIMIT_USER", 2000, "Requests a minute for a signed-in user", [
    1,
    2 ** 31 - 1,
  ]),
  rateLimitAddress: wholeNumber(
    "FAIRLEAD_RATE_LIMIT_ADDRESS",
    500,
    "Requests a minute for an IPv4 address or an IPv6 /64 that is not signed in",
    [1, 2 ** 31 - 1],
  ),
  smtpUrl: {
    ...optional(
      "FAIRLEAD_SMTP_URL",
      "Server to send mail through, as smtp://user:password@host:port or smtps://…; without it the log names each letter's recipient and subject",
      true,
    ),
    read(value) {
      if (value !== undefined && !/^smtps?:$/.test(URL.parse(value)?.protocol ?? "")) {
        throw new BadSetting("must be an smtp or smtps address");
      }
      return value;
    },
  } satisfies Setting<string | undefined>,
  mailPerAuthor: wholeNumber(
    "FAIRLEAD_MAIL_PER_AUTHOR",
    2000,
    "Mails an hour that what one user writes may cause; people beyond it get only a to-do",
    [1, 2 ** 31 - 1],
  ),
  mailFrom: text("FAIRLEAD_MAIL_FROM", "Fairlead <fairlead@localhost>", "Sender of mail"),
  dnsServers: servers(
    "FAIRLEAD_DNS_SERVERS",
    "DNS servers to query for the records of verified domains and the hosts of outbound requests; the system's by default",
  ),
  outboundAllow: networks(
    "FAIRLEAD_OUTBOUND_ALLOW",
    "Addresses or networks that outbound requests for users may reach, besides public addresses",
  ),
  maxConnections: wholeNumber(
    "FAIRLEAD_MAX_CONNECTIONS",
    4000,
    "HTTP connections that a process keeps open; one network may have a quarter, loopback and trusted proxies all",
    [10, 100_000],
  ),
  maxUnsentBytes: wholeNumber(
    "FAIRLEAD_MAX_UNSENT_BYTES",
    128 * 2 ** 20,
    "Bytes of responses that a process holds for clients that are slow to receive them; one caller may hold a quarter",
    [2 ** 20, 2 ** 40],
  ),
  metricsAllow: networks(
    "FAIRLEAD_METRICS_ALLOW",
    "Addresses that may read metrics and detailed readiness, besides loopback",
  ),
  poolSize: wholeNumber("FAIRLEAD_POOL_SIZE", 8, "Database connections of a process for lists and writes", [1, 100]),
  anonymousPoolSize: wholeNumber(
    "FAIRLEAD_ANONYMOUS_POOL_SIZE",
    4,
    "Further database connections of a process for reads of callers who are not signed in",
    [1, 100],
  ),
  statementTimeout: wholeNumber(
    "FAIRLEAD_STATEMENT_TIMEOUT",
    5000,
    "Milliseconds after which PostgreSQL cancels a statement",
    [100, 600_000],
  ),
  anonymousTimeout: wholeNumber(
    "FAIRLEAD_ANONYMOUS_TIMEOUT",
    1500,
    "Milliseconds after which PostgreSQL cancels a statement that reads for a caller who is not signed in",
    [100, 600_000],
  ),
  pointTimeout: wholeNumber(
    "FAIRLEAD_POINT_TIMEOUT",
    250,
    "Milliseconds after which PostgreSQL cancels a read by key; all requests share the connections of such reads",
    [50, 600_000],
  ),
  lockTimeout: wholeNumber(
    "FAIRLEAD_LOCK_TIMEOUT",
    1500,
    "Milliseconds that a statement waits for a lock; keep it above PostgreSQL's deadlock_timeout",
    [100, 600_000],
  ),
  connectTimeout: wholeNumber(
    "FAIRLEAD_CONNECT_TIMEOUT",
    2000,
    "Milliseconds that a request waits for a database connection, new or pooled",
    [100, 600_000],
  ),
  storages: directories(
    "FAIRLEAD_STORAGES",
    "default=data/repositories",
    "Directories of repositories, each with the name of its storage; without it one in the data directory",
  ),
  searchPath: text("PATH", "/usr/local/bin:/usr/bin:/bin", "Where to find git"),
  gitProcesses: wholeNumber(
    "FAIRLEAD_GIT_PROCESSES",
    32,
    "Clones and pushes that a process serves at once, a quarter of them for one user, and as many short reads of repositories; eight times as many wait",
    [1, 1000],
  ),
  gitMemory: wholeNumber(
    "FAIRLEAD_GIT_MEMORY",
    2 * 2 ** 30,
    "Bytes that a git process of a clone, a push or maintenance may allocate",
    [64 * 2 ** 20, 2 ** 40],
  ),
  gitMaxPack: wholeNumber("FAIRLEAD_GIT_MAX_PACK", 5 * 2 ** 30, "Bytes that one push may send", [2 ** 20, 2 ** 40]),
  jobConcurrency: counts(
    "FAIRLEAD_JOB_CONCURRENCY",
    { critical: 5, default: 10, git: 2, moves: 1, bulk: 2, ingest: 20, mail: 5, notifications: 5, outbound: 2 },
    "Jobs of each queue that a worker runs at once",
  ),
  logLevel: oneOf(
    "FAIRLEAD_LOG_LEVEL",
    ["debug", "info", "warn", "error", "silent"],
    "info",
    "Minimum level of log lines",
  ),
  logFormat: oneOf(
    "FAIRLEAD_LOG_FORMAT",
    ["auto", "json", "text"],
    "auto",
    "Form of log lines; auto writes text to a terminal and JSON elsewhere",
  ),
  logFile: optional(
    "FAIRLEAD_LOG_FILE",
    "File that log lines are appended to; without it they go to standard output, those of commands to standard error",
  ),
  assertions: onOff(
    "FAIRLEAD_ASSERTIONS",
    "off",
    "Fail requests that break a rule of the code which otherwise only costs time; for development and tests",
  ),
  fips: onOff("FAIRLEAD_FIPS", "off", "Leave out MD5 fingerprints of keys, as FIPS requires"),
};

type Read<S> = S extends Setting<infer T> ? T : never;
export type Config = { readonly [K in keyof typeof settings]: Read<(typeof settings)[K]> };

/** The variables of this process, or those that a test sets instead. */
export type Environment = Readonly<Record<string, string | undefined>>;
export const environment: Environment = process.env;

/** Reads and checks every setting; the error lists all problems. */
export function readConfig(env: Environment = environment): Config {
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

/** The variables that sshd sets for the command of a key. */
export const readSshRequest = (env: Environment = environment) => ({
  command: env["SSH_ORIGINAL_COMMAND"],
  protocol: env["GIT_PROTOCOL"],
  address: env["SSH_CONNECTION"]?.split(" ", 1)[0],
});

/** The settings as `fairlead config` and the documentation list them; secrets show only whether they are set. */
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
