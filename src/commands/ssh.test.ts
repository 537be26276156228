import assert from "node:assert/strict";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fairlead, start, withDirectory } from "#test/support/command.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { run, type SshTools, sshTools } from "#test/support/ssh.ts";

describe("fairlead ssh", () => {
  let databaseUrl: string;
  let tools: SshTools;
  before(async () => {
    databaseUrl = await freshDatabase();
    tools = await sshTools();
  });
  after(() => tools.close());

  const SAYS =
    /"port":(\d+),"host_keys":\{"ssh-ed25519":"(SHA256:[^"]+)","ssh-rsa":"(SHA256:[^"]+)"\},"msg":"SSH is at ssh:/;

  test("serves SSH beside others, with the same host keys each time", async () => {
    await withDirectory(async (directory) => {
      const env = { FAIRLEAD_DATABASE_URL: databaseUrl, FAIRLEAD_DATA_DIR: directory };
      const first = start(["ssh"], env);
      const [, port, ...fingerprints] = await first.says(SAYS);
      const second = start(["ssh"], env);
      assert.deepEqual((await second.says(SAYS)).slice(2), fingerprints);
      const scanned = await run("ssh-keyscan", ["-p", String(port), "-t", "ed25519", "127.0.0.1"], {});
      const shown = await run("ssh-keygen", ["-l", "-f", "-"], {}, scanned.stdout);
      assert.ok(shown.stdout.includes(String(fingerprints[0])), shown.stdout + shown.stderr);
      const stranger = tools.withKey(await tools.makeKey("ed25519"));
      assert.match((await tools.ssh(stranger, Number(port))).stderr, /Permission denied \(publickey\)/);
      assert.deepEqual([(await first.stop()).code, (await second.stop()).code], [0, 0]);

      const file = join(directory, "ssh_host_keys/ssh_host_rsa_key");
      assert.match((await fairlead(["doctor"], env)).stdout, /^ok {3}SSH host key .*ssh_host_rsa_key/m);
      await chmod(file, 0o644);
      assert.match(
        (await fairlead(["doctor"], env)).stdout,
        /^BAD {2}The SSH host key .*ssh_host_rsa_key can be read/m,
      );
    });
  });

  test("wants a database and a port", async () => {
    assert.match((await fairlead(["ssh"], {})).stderr, /^fairlead: an SSH process needs FAIRLEAD_DATABASE_URL/m);
    await withDirectory(async (directory) => {
      const env = { FAIRLEAD_DATABASE_URL: databaseUrl, FAIRLEAD_DATA_DIR: directory };
      const off = await fairlead(["ssh"], { ...env, FAIRLEAD_SSH_PORT: "off" });
      assert.equal(off.code, 1);
      assert.match(off.stderr, /^fairlead: FAIRLEAD_SSH_PORT is off/m);
    });
  });
});
