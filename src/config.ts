import { resolve } from "node:path";

/** A list of settings is the whole configuration: names, defaults, checks and documentation in one place. */
interface Setting<T> {
  readonly env: string;
  readonly about: string;
  readonly shownDefault: string;
  readonly secret?: true;
  read(text: string | undefined): T;
}

class BadSetting extends Error {}

const text = (env: string, fallback: string, about: string): Setting<string> => ({
  env,
  about,
  shownDefault: fallback,
  read: (value) => value ?? fallback,
});

const optional = (env: string, about: string, secret?: true): Setting<string | undefined> => ({
  env,
  about,
  shownDefault: "",
  ...(secret && { secret }),
  read: (value) => value,
});

const oneOf = <const T extends string>(env: string, values: readonly T[], fallback: T, about: string): Setting<T> => ({
  env,
  about: `${about} (${values.join(", ")})`,
  shownDefault: fallback,
  read(value) {
    const found = values.find((known) => known === (value ?? fallback));
    if (found === undefined) throw new BadSetting(`must be one of ${values.join(", ")}`);
    return found;
  },
});

const whole = (env: string, fallback: number, about: string, [least, most] = [0, 2 ** 31 - 1]): Setting<number> => ({
  env,
  about,
  shownDefault: String(fallback),
  read(value) {
    const number = value === undefined ? fallback : Number(value);
    if (!Number.isInteger(number) || number < least || number > most) {
      throw new BadSetting(`must be a whole number from ${least} to ${most}`);
    }
    return number;
  },
});

const list = (env: string, fallback: readonly string[], about: string): Setting<readonly string[]> => ({
  env,
  about: `${about} (comma-separated)`,
  shownDefault: fallback.join(","),
  read: (value) =>
    value === undefined
      ? fallback
      : value
          .split(",")
          .map((part) => part.trim())
          .filter(Boolean),
});

const onOff = (env: string, fallback: "on" | "off", about: string): Setting<boolean> => {
  const choice = oneOf(env, ["on", "off", "1", "0", "true", "false"], fallback, about);
  return { ...choice, about: `${about} (on, off)`, read: (value) => ["on", "1", "true"].includes(choice.read(value)) };
};

/** A whole number for each of some names; those left out keep their default. */
const counts = <K extends string>(
  env: string,
  fallback: Readonly<Record<K, number>>,
  about: string,
): Setting<Readonly<Record<K, number>>> => ({
  env,
  about,
  shownDefault: pairs(fallback),
  read(value = "") {
    const given: Record<K, number> = { ...fallback };
    for (const part of value.split(",").filter((each) => each.trim() !== "")) {
      const [, name = "", count] = /^\s*(\w+)\s*=\s*(\d{1,3})\s*$/.exec(part) ?? [];
      if (!Object.hasOwn(fallback, name)) throw new BadSetting(`must be like ${pairs(fallback)}`);
      given[name as K] = Number(count);
    }
    return Object.freeze(given);
  },
});

const pairs = (values: Readonly<Record<string, number>>) =>
  Object.entries(values)
    .map((pair) => pair.join("="))
    .join(",");

const address = (env: string, about: string): Setting<string | undefined> => ({
  env,
  about,
  shownDefault: "",
  read(value) {
    if (value === undefined) return undefined;
    if (!/^https?:$/.test(URL.parse(value)?.protocol ?? "")) throw new BadSetting("must be an http or https address");
    return value.replace(/\/+$/, "");
  },
});

const settings = {
  databaseUrl: optional(
    "FAIRLEAD_DATABASE_URL",
    "PostgreSQL to use; without it a trial engine is started in the data directory",
    true,
  ),
  dataDir: {
    ...text("FAIRLEAD_DATA_DIR", "data", "Where the sealing key, uploaded files and the trial engine's data live"),
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
    "Requests a minute for an address that is not signed in",
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

/** What `fairlead config` prints and the documentation lists; secrets show only whether they are set. */
export const describeSettings = (config?: Config) =>
  Object.entries(settings).map(([name, setting]) => {
    const value: unknown = config?.[name as keyof Config];
    const shown = Array.isArray(value)
      ? value.join(",")
      : typeof value === "object"
        ? pairs(value as Record<string, number>)
        : String(value ?? "");
    return {
      env: setting.env,
      about: setting.about,
      fallback: setting.shownDefault,
      value: "secret" in setting && value !== undefined ? "(set)" : shown,
    };
  });
