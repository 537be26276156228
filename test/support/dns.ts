import { spawn } from "node:child_process";
import { once } from "node:events";
import { Resolver } from "node:dns/promises";
import { userInfo } from "node:os";
import { freePort } from "./ports.ts";
import { until } from "./until.ts";

const READY = "ready.test";

type Records = Readonly<Record<string, readonly string[]>>;

export interface TestDns {
  /** Address and port. */
  readonly server: string;
  /** Replaces the served TXT records and addresses; every other name below `.test` does not exist. */
  serve(records: Records, addresses?: Records): Promise<void>;
  stop(): Promise<void>;
}

/** A DNS server on this machine; it refuses names that are not below `.test`. */
export async function startDns(): Promise<TestDns> {
  const port = await freePort();
  const server = `127.0.0.1:${port}`;
  let child: ReturnType<typeof spawn> | undefined;
  // An exception in a test must not leave the server running.
  const killAtExit = () => child?.kill("SIGKILL");
  process.once("exit", killAtExit);

  async function stop() {
    if (child && child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    child = undefined;
  }

  async function serve(texts: Records, addresses: Records = {}) {
    await stop();
    const served = [
      ...pairs({ ...texts, [READY]: ["yes"] }).map(([name, text]) => `--txt-record=${name},${text}`),
      ...pairs(addresses).map(([name, address]) => `--address=/${name}/${address}`),
    ];
    const options = ["--keep-in-foreground", "--conf-file=/dev/null", "--pid-file", "--no-resolv", "--no-hosts"];
    const place = [
      `--port=${port}`,
      "--listen-address=127.0.0.1",
      "--bind-interfaces",
      `--user=${userInfo().username}`,
    ];
    child = spawn("dnsmasq", [...options, ...place, "--local=/test/", ...served], { stdio: "ignore" });
    const resolver = new Resolver({ timeout: 200, tries: 1 });
    resolver.setServers([server]);
    await until("the DNS server answers", () => resolver.resolveTxt(READY).catch(() => undefined));
  }

  await serve({});
  return {
    server,
    serve,
    async stop() {
      process.off("exit", killAtExit);
      await stop();
    },
  };
}

const pairs = (records: Records) =>
  Object.entries(records).flatMap(([name, values]) => values.map((value) => [name, value] as const));
