import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "#test/support/ports.ts";
import { until } from "#test/support/until.ts";

const PROGRAM = "prometheus-alertmanager";

/** A real Alertmanager with a configuration of its own. */
export interface Alertmanager {
  /** Says that alerts fire, as a Prometheus does, or that they ended. */
  report(alerts: readonly AlertmanagerAlert[]): Promise<void>;
  log(): string;
  stop(): Promise<void>;
}

export interface AlertmanagerAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly startsAt?: string;
  readonly endsAt?: string;
  readonly generatorURL?: string;
}

export async function startAlertmanager(config: string): Promise<Alertmanager> {
  const directory = await mkdtemp(join(tmpdir(), "fairlead-alertmanager-"));
  const file = join(directory, "alertmanager.yml");
  await writeFile(file, config);
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    PROGRAM,
    [
      ...[`--config.file=${file}`, `--storage.path=${join(directory, "data")}`],
      ...[`--web.listen-address=${address}`, "--cluster.listen-address="],
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let log = "";
  for (const output of [child.stdout, child.stderr])
    output.setEncoding("utf8").on("data", (chunk: string) => (log = (log + chunk).slice(-100_000)));
  child.on("error", (error) => (log += error.message));
  const stop = async () => {
    await ended(child);
    await rm(directory, { recursive: true, force: true });
  };
  const killAtExit = () => child.kill("SIGKILL");
  process.once("exit", killAtExit);
  await until(`${PROGRAM} is ready`, async () => {
    if (child.exitCode !== null || child.pid === undefined) throw new Error(`${PROGRAM} ended:\n${log}`);
    return fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
  return {
    async report(alerts) {
      const response = await fetch(`http://${address}/api/v2/alerts`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(alerts),
      });
      if (!response.ok) throw new Error(`Alertmanager answered ${response.status}: ${await response.text()}`);
    },
    log: () => log,
    stop,
  };
}

async function ended(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const end = once(child, "exit");
  child.kill("SIGTERM");
  await end;
}

/** How one integration is configured in Alertmanager: the URL and its settings for HTTP. */
export interface WebhookReceiver {
  readonly name: string;
  readonly url: string;
  readonly httpConfig?: string;
}

/** One route for each receiver, by the label `via`; groups are sent at once, changes and repeats a second later. */
export const configFor = (receivers: readonly WebhookReceiver[]): string => `
route:
  receiver: ${receivers[0]?.name}
  group_by: [via]
  group_wait: 100ms
  group_interval: 1s
  repeat_interval: 1s
  routes:
${receivers.map(({ name }) => `    - {receiver: ${name}, matchers: ['via="${name}"']}`).join("\n")}
receivers:
${receivers
  .map(
    ({ name, url, httpConfig = "{}" }) => `  - name: ${name}
    webhook_configs:
      - {url: '${url}', send_resolved: true, http_config: ${httpConfig}}`,
  )
  .join("\n")}
`;
