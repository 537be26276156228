import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { runAfterExit } from "#test/faults/supervisor.ts";
import type { Certificate } from "#test/support/certificate.ts";
import { blockUnder, readGuide, substitute } from "#test/support/guide.ts";
import { until } from "#test/support/until.ts";

export const HOST = "code.example.com";
export const guide = readGuide("proxies.md");

export type ProxyName = "nginx" | "Caddy";

/** The ports of a proxy and of what is behind it. */
export interface Ports {
  readonly http: number;
  readonly https: number;
  readonly upstream: number;
}

export interface Proxy extends AsyncDisposable {
  readonly name: ProxyName;
  readonly ports: Ports;
  log(): string;
}

const HAS_IPV6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));
const CERTIFICATE = `/etc/ssl/certs/${HOST}.pem`;
const KEY = `/etc/ssl/private/${HOST}.key`;

/** Starts the proxy with the file of the guide, or with a change to it. */
export async function startProxy(
  name: ProxyName,
  directory: string,
  { certificate, key }: Certificate,
  ports: Ports,
  change: (file: string) => string = (file) => file,
): Promise<Proxy> {
  const own = await mkdtemp(join(directory, `${name}-`));
  await chmod(own, 0o755);
  const file = substitute(blockUnder(guide, name), { [CERTIFICATE]: certificate, [KEY]: key });
  const { program, args, env } = await PROGRAMS[name](own, change(file), ports);
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: "/usr/sbin:/usr/bin", ...env },
  });
  let log = "";
  const keep = (chunk: string) => (log = (log + chunk).slice(-20_000));
  child.stdout.setEncoding("utf8").on("data", keep);
  child.stderr.setEncoding("utf8").on("data", keep);
  child.on("error", (error) => keep(error.message));
  const ended = once(child, "close");
  // nginx ends its workers only on a signal that it can handle.
  const watcher = runAfterExit('kill -TERM "$1"', String(child.pid));
  const hasEnded = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  await until(`${name} listens`, async () => {
    if (hasEnded()) throw new Error(`${name} ended: ${log}`);
    return (await accepts(ports.https)) && (await accepts(ports.http));
  });
  return {
    name,
    ports,
    log: () => log,
    async [Symbol.asyncDispose]() {
      watcher.kill("SIGKILL");
      if (hasEnded()) return;
      child.kill("SIGTERM");
      const giveUp = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await ended;
      clearTimeout(giveUp);
    },
  };
}

interface Program {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const PROGRAMS: Record<ProxyName, (directory: string, file: string, ports: Ports) => Promise<Program>> = {
  /** The site of the guide, in a frame that keeps everything in one directory. */
  async nginx(directory, file, { http, https, upstream }) {
    const site = substitute(file, {
      "listen 80;": `listen 127.0.0.1:${http};`,
      "listen [::]:80;": HAS_IPV6 ? `listen [::1]:${http};` : "",
      "listen 443 ssl": `listen 127.0.0.1:${https} ssl`,
      "listen [::]:443 ssl http2;": HAS_IPV6 ? `listen [::1]:${https} ssl http2;` : "",
      "127.0.0.1:8080": `127.0.0.1:${upstream}`,
    });
    await writeFile(join(directory, "site"), site);
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    const main = [
      `daemon off; worker_processes 1; pid ${directory}/pid; error_log stderr warn;`,
      `events { worker_connections 768; }`,
      `http { access_log off; ${temporary.map((each) => `${each}_temp_path ${directory}/${each};`).join(" ")}`,
      `include ${directory}/site; }`,
    ];
    await writeFile(join(directory, "nginx.conf"), `${main.join("\n")}\n`);
    return { program: "nginx", args: ["-e", "stderr", "-p", directory, "-c", join(directory, "nginx.conf")] };
  },
  async Caddy(directory, file, { http, https, upstream }) {
    const options = `{\n\tadmin off\n\tdefault_bind 127.0.0.1\n\thttp_port ${http}\n\thttps_port ${https}\n}\n`;
    const site = substitute(file, { "127.0.0.1:8080": `127.0.0.1:${upstream}` });
    await writeFile(join(directory, "Caddyfile"), options + site);
    const home = { HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory };
    return { program: "caddy", args: ["run", "--config", join(directory, "Caddyfile")], env: home };
  },
};

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
