import { availableParallelism } from "node:os";
import { join } from "node:path";
import { isatty } from "node:tty";
import pino, { type Logger } from "pino";
import { recordTokenUse, type TokenUse } from "#access/token-use.ts";
import type { Config } from "#config.ts";
import { type Databases, openDatabase } from "#db/database.ts";
import { cachedSettings, type Settings } from "#db/settings.ts";
import { type Git, openGit } from "#git/storages/open.ts";
import { type Limiter, makeLimiter } from "#limits/rate-limits.ts";
import { meterPool } from "#metrics/database.ts";
import { meterGitSlots } from "#metrics/git.ts";
import { makeMetrics, meterLog, type Metrics } from "#metrics/metrics.ts";
import { refusedSignIns, type ReportRefusedSignIn } from "#metrics/sign-ins.ts";
import { type Jobs, openJobs } from "#jobs/add.ts";
import { meterJobs } from "#jobs/gauges.ts";
import { type Blobs, directoryBlobs } from "#lib/blobs.ts";
import { boundedDns, type Dns } from "#lib/dns.ts";
import {
  ignoreLostReaders,
  type LogDestination,
  logDestination,
  openLogFile,
  standardOutput,
} from "#lib/log-destination.ts";
import { logOptions, readable } from "#lib/log-format.ts";
import { type MarkdownRenderer, openMarkdown } from "#lib/markdown/renderer.ts";
import { boundedPasswords, type Passwords } from "#lib/passwords.ts";
import { type Sealing, sealingBy } from "#lib/sealing.ts";
import { ensureSealingKey } from "#lib/sealing-key.ts";
import { type Mailer, openMailer } from "#mail/transport.ts";
import { openOutbound, type Outbound } from "#outbound/outbound.ts";

/** Everything that is built once at start and passed down. */
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
  readonly outbound: Outbound;
  readonly passwords: Passwords;
  readonly markdown: MarkdownRenderer;
  readonly sealing: Sealing;
  readonly tokenUse: TokenUse;
  readonly limiter: Limiter;
  readonly metrics: Metrics;
  readonly reportRefusedSignIn: ReportRefusedSignIn;
  readonly log: Logger;
  readonly now: () => Date;
  readonly lifecycle: {
    /** Turned on when the process is asked to stop, so that readiness says so. */
    stopping: boolean;
    /** Pushes in progress, for which a process that stops waits longer. */
    pushes: number;
    /** Why the process cannot serve requests yet. */
    notReady?: string | undefined;
  };
}

/** The log of a process, which also tells how many lines it dropped and whether it writes for people. */
export type ProcessLog = Logger & Partial<Pick<LogDestination, "droppedLines">> & { readonly isText?: boolean };

export function openServices(
  config: Config,
  databaseUrl: string,
  log: ProcessLog,
): Services & { close(): Promise<void> } {
  const db = openDatabase({ ...config, url: databaseUrl, log });
  const tokenUse = recordTokenUse(db, log);
  const mail = openMailer(config, log);
  const settings = cachedSettings(db);
  const dns = boundedDns(config.dnsServers);
  const markdown = openMarkdown();
  const metrics = makeMetrics();
  const git = openGit(config, metrics.git);
  meterGitSlots(metrics.registry, git.slotUsage);
  // Before the jobs, whose figures are read by the pool during a scrape.
  meterPool(metrics.registry, db.poolUsage);
  meterJobs(metrics.registry, db);
  if (log.droppedLines) meterLog(metrics.registry, log.droppedLines);
  return {
    config,
    db,
    databaseUrl,
    jobs: openJobs(db, log),
    mail,
    settings,
    blobs: directoryBlobs(join(config.dataDir, "blobs")),
    git,
    dns,
    outbound: openOutbound(config, dns, async () => {
      const { allow_local_requests_from_web_hooks_and_services: allowed } = await settings.current();
      return allowed;
    }),
    passwords: boundedPasswords(Math.max(availableParallelism() - 1, 1)),
    markdown,
    sealing: sealingBy(() => ensureSealingKey(config.dataDir)),
    tokenUse,
    limiter: makeLimiter(Date.now),
    metrics,
    reportRefusedSignIn: refusedSignIns(metrics.registry, log),
    log,
    now: () => new Date(),
    lifecycle: { stopping: false, pushes: 0 },
    async close() {
      mail.close();
      await markdown.close();
      await git.close();
      await tokenUse.stop();
      await db.close();
    },
  };
}

/** Opens the log of this process. Commands use standard error, because their output is for the person. */
export function openLog({ logFile, logFormat, logLevel }: Config, output: "stdout" | "stderr" = "stdout"): ProcessLog {
  ignoreLostReaders();
  const fd = logFile === undefined ? standardOutput(output) : openLogFile(logFile);
  const isText = logFormat === "text" || (logFormat === "auto" && isatty(fd));
  const destination = logDestination(fd, (lines) => log.warn({ lines }, "dropped log lines that could not be written"));
  const write = isText ? (line: string) => destination.write(readable(line)) : destination.write;
  const log: Logger = pino(logOptions(logLevel), { ...destination, write });
  // Node.js would print its warnings as text.
  if (output === "stdout") {
    process.removeAllListeners("warning").on("warning", (warning) => log.warn({ err: warning }, "warning of Node.js"));
  }
  return Object.assign(log, { droppedLines: destination.droppedLines, isText });
}
