import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fairlead, start, withDirectory } from "#test/support/command.ts";
import { freshDatabase } from "#test/support/postgres.ts";

const NOBODY = 65_534;
const PRIVILEGED = 80;
const lowestFreePort = () => Number(readFileSync("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8"));
const canTryPrivileged = process.platform === "linux" && process.getuid?.() === 0 && lowestFreePort() > PRIVILEGED;

describe("the ports of a start", () => {
  let other: Server;
  let port: string;
  before(async () => {
    other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    port = String((other.address() as AddressInfo).port);
  });
  after(() => other.close());

  const refused = (env: Record<string, string>, problem: RegExp, options?: { uid: number }) =>
    withDirectory(async (directory) => {
      const dataDir = join(directory, "data");
      const all = { FAIRLEAD_PORT: "0", FAIRLEAD_DATA_DIR: dataDir, ...env };
      const { code, stdout, stderr } = await start(["serve"], all, options).ended;
      assert.equal(code, 1);
      assert.match(stderr, problem);
      assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
      assert.equal(stdout, "");
      assert.ok(!existsSync(dataDir), "nothing was created");
    });

  test("a port in use stops the start before anything is created, and the message names its setting", async () => {
    await refused(
      { FAIRLEAD_PORT: port },
      new RegExp(`^fairlead: FAIRLEAD_PORT: port ${port} of 127\\.0\\.0\\.1 is in use`),
    );
    await refused({ FAIRLEAD_SSH_PORT: port }, /^fairlead: FAIRLEAD_SSH_PORT: port \d+ .* is in use .* or to off$/m);
  });

  test("so does an address that the machine does not have", async () => {
    await refused(
      { FAIRLEAD_HOST: "203.0.113.1" },
      /^fairlead: FAIRLEAD_HOST: 203\.0\.113\.1 is no address of this machine/,
    );
    await refused({ FAIRLEAD_SSH_HOST: "203.0.113.1" }, /^fairlead: FAIRLEAD_SSH_HOST: 203\.0\.113\.1 is no address/);
  });

  test("so does a port that the user may not listen on", { skip: !canTryPrivileged }, () =>
    refused({ FAIRLEAD_PORT: "80" }, /^fairlead: FAIRLEAD_PORT: this user may not listen on port 80 /, { uid: NOBODY }),
  );

  test("web and ssh name the setting too", () =>
    withDirectory(async (directory) => {
      const env = { FAIRLEAD_DATABASE_URL: await freshDatabase(), FAIRLEAD_DATA_DIR: directory };
      const web = await fairlead(["web"], { ...env, FAIRLEAD_PORT: port });
      assert.deepEqual([web.code, /^fairlead: FAIRLEAD_PORT: .* is in use/.test(web.stderr)], [1, true], web.stderr);
      const ssh = await fairlead(["ssh"], { ...env, FAIRLEAD_SSH_PORT: port });
      assert.deepEqual(
        [ssh.code, /^fairlead: FAIRLEAD_SSH_PORT: .* is in use/.test(ssh.stderr)],
        [1, true],
        ssh.stderr,
      );
    }));

  test("until root's token is used, each start says how to get one", () =>
    withDirectory(async (directory) => {
      const env = { FAIRLEAD_DATA_DIR: directory, FAIRLEAD_PORT: "0", FAIRLEAD_DATABASE_URL: await freshDatabase() };
      const [, token = ""] = /^Token \(shown only now\): (\S+)$/m.exec((await fairlead(["setup"], env)).stdout) ?? [];
      const hint = /"msg":"Nobody has signed in as 'root' yet\. [^"]*token create --user root/;

      const second = start(["serve"], env);
      const [, address = ""] = await second.says(/"msg":"Fairlead is at (http:[^"]+)"/);
      assert.match(second.stdout(), hint);
      const answer = await fetch(`${address}/api/v4/user`, { headers: { "private-token": token } });
      assert.equal(answer.status, 200);
      await second.stop();

      const third = start(["serve"], env);
      await third.says(/"msg":"Fairlead is at /);
      assert.doesNotMatch((await third.stop()).stdout, hint);
    }));
});
