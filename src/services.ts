import { availableParallelism } from "node:os";
import { join } from "node:path";
import pino, { type Logger } from "pino";
import { recordTokenUse, type TokenUse } from "#access/token-use.ts";
import type { Config } from "#config.ts";
import { type Databases, openDatabase } from "#db/database.ts";
import { cachedSettings, type Settings } from "#db/settings.ts";
import { type Git, openGit } from "#git/storages/open.ts";
import { type Limiter, makeLimiter } from "#http/limits.ts";
import { makeMetrics, type Metrics } from "#http/metrics.ts";
import { type Jobs, openJobs } from "#jobs/add.ts";
import { meterJobs } from "#jobs/gauges.ts";
import { type Blobs, directoryBlobs } from "#lib/blobs.ts";
import { boundedDns, type Dns } from "#lib/dns.ts";
import { boundedPasswords, type Passwords } from "#lib/passwords.ts";
import { type Sealing, sealingBy } from "#lib/sealing.ts";
import { ensureSealingKey } from "#lib/sealing-key.ts";
import { type Mailer, openMailer } from "#mail/transport.ts";

/** What is built once at start and passed down. */
export interface Services {
  readonly config: Config;
  readonly db: Databases;
  /** Where the database is, for connections that belong to no request. */
  readonly databaseUrl: string;
  readonly jobs: Jobs;
  readonly mail: Mailer;
  readonly settings: Settings;
  readonly blobs: Blobs;
  readonly git: Git;
  readonly dns: Dns;
  readonly passwords: Passwords;
  readonly sealing: Sealing;
  readonly tokenUse: TokenUse;
  readonly limiter: Limiter;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly now: () => Date;
  /** Turned on when the process is asked to stop, so that readiness says so; and what it then waits for longer. */
  readonly lifecycle: { stopping: boolean; pushes: number };
}

export function openServices(config: Config, databaseUrl: string, log: Logger): Services & { close(): Promise<void> } {
  const db = openDatabase({
    url: databaseUrl,
    log,
    poolSize: config.poolSize,
    statementTimeout: config.statementTimeout,
  });
  const tokenUse = recordTokenUse(db, log);
  const mail = openMailer(config, log);
  const git = openGit(config);
  const metrics = makeMetrics();
  meterJobs(metrics.registry, db);
  return {
    config,
    db,
    databaseUrl,
    jobs: openJobs(db, log),
    mail,
    settings: cachedSettings(db),
    blobs: directoryBlobs(join(config.dataDir, "blobs")),
    git,
    dns: boundedDns(config.dnsServers),
    passwords: boundedPasswords(Math.max(availableParallelism() - 1, 1)),
    sealing: sealingBy(() => ensureSealingKey(config.dataDir)),
    tokenUse,
    limiter: makeLimiter(Date.now),
    metrics,
    log,
    now: () => new Date(),
    lifecycle: { stopping: false, pushes: 0 },
    async close() {
      mail.close();
      await git.close();
      await tokenUse.stop();
      await db.close();
    },
  };
}

/** The log: one JSON line an event, gathered into few writes. */
export const openLog = (config: Config): Logger =>
  pino(
    { level: config.logLevel, base: null },
    pino.destination({ sync: false, minLength: 16_000, periodicFlush: 250 }),
  );
