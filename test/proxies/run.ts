import { chmod, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { runAfterExit } from "#test/faults/supervisor.ts";
import { startInstallation } from "#test/git/installation.ts";
import { makeCertificate } from "#test/support/certificate.ts";
import { blockUnder, substitute } from "#test/support/guide.ts";
import { freePort } from "#test/support/ports.ts";
import { type Check, checks, MAX_ANONYMOUS_REQUESTS, MAX_PACK_BYTES, redirect, type Scene } from "./checks.ts";
import { clientOf, type Version, VERSIONS } from "./client.ts";
import { plants } from "./plants.ts";
import { guide, HOST, type ProxyName, startProxy } from "./proxy.ts";
import { startStub } from "./stub.ts";

const { values } = parseArgs({ options: { only: { type: "string", default: "" } } });
const isChosen = (name: string) => name.includes(values.only);

/** Starts nginx and Caddy with the files of docs/guides/proxies.md, and looks at Fairlead through each. */
const PATIENCE_MS = 30_000;
/** What a plant prevents does not happen later either. */
const PLANT_PATIENCE_MS = 2_000;
const CHECK_TIMEOUT_MS = 120_000;

const directory = await mkdtemp(join(tmpdir(), "fairlead-proxies-"));
// The workers of nginx are not root.
await chmod(directory, 0o755);
runAfterExit('sleep 1; rm -rf "$1"', directory);
const certificate = makeCertificate(directory, HOST);
const ports = { http: await freePort(), https: await freePort() };
const settings = substitute(blockUnder(guide, "Settings of Fairlead"), { [HOST]: `${HOST}:${ports.https}` });
const installation = await startInstallation({
  ...Object.fromEntries(Array.from(settings.matchAll(/^(\w+)=(.*)$/gm), ([, name, value]) => [name, value])),
  FAIRLEAD_RATE_LIMITS: "on",
  FAIRLEAD_RATE_LIMIT_ADDRESS: String(MAX_ANONYMOUS_REQUESTS),
  FAIRLEAD_GIT_MAX_PACK: String(MAX_PACK_BYTES),
});
const fairleadPort = Number(new URL(installation.server().url).port);
let [passed, failed] = [0, 0];
try {
  for (const name of ["nginx", "Caddy"] as const) {
    await through(name, PATIENCE_MS, undefined, async (scene) => {
      for (const check of checks)
        for (const version of check === redirect ? VERSIONS.slice(0, 1) : VERSIONS)
          if (isChosen(`${name}, ${version}: ${check.name}`))
            report(`${name}, ${version}: ${check.name}`, await problemOf(check, scene, version));
    });
  }
  for (const { proxy, line, instead, check } of plants.filter(({ check }) => isChosen(check.name))) {
    const change = (file: string) => substitute(file, { [line]: instead });
    await through(proxy, PLANT_PATIENCE_MS, change, async (scene) => {
      const problem = await problemOf(check, scene, "HTTP/1.1");
      const name = `${proxy} with ${JSON.stringify(instead)} instead of "${line}" is noticed: ${check.name}`;
      report(name, problem === undefined ? "it is not" : undefined);
    });
  }
} finally {
  await installation.close();
}
console.log(`proxies: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** Runs the proxy twice: before Fairlead, and before a server of ours that sees what it is sent. */
async function through(
  name: ProxyName,
  patience: number,
  change: ((file: string) => string) | undefined,
  work: (scene: Scene) => Promise<void>,
) {
  await using stub = await startStub();
  const stubPorts = { http: await freePort(), https: await freePort(), upstream: stub.port };
  const fairleadPorts = { ...ports, upstream: fairleadPort };
  await using proxy = await startProxy(name, directory, certificate, fairleadPorts, change);
  await using stubProxy = await startProxy(name, directory, certificate, stubPorts, change);
  const trusted = await readFile(certificate.certificate, "utf8");
  const client = clientOf(proxy, trusted);
  const stubClient = clientOf(stubProxy, trusted);
  const certificateFile = certificate.certificate;
  const before = failed;
  await work({ installation, client, ports: proxy.ports, certificateFile, stub, stubClient, patience });
  if (failed > before) console.log(`# the log of ${name} ends with\n${proxy.log()}${stubProxy.log()}`);
}

async function problemOf(check: Check, scene: Scene, version: Version): Promise<string | undefined> {
  try {
    const late = sleep(CHECK_TIMEOUT_MS, undefined, { ref: false }).then(() => "it does not end");
    return await Promise.race([check.run(scene, version).then(() => undefined), late]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function report(name: string, problem: string | undefined) {
  if (problem === undefined) passed++;
  else failed++;
  console.log(problem === undefined ? `✔ ${name}` : `✖ ${name}\n    ${problem}`);
}
