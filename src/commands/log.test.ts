import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { start, withDirectory } from "#test/support/command.ts";
import { PATIENT } from "#test/support/limits.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";

const program = join(import.meta.dirname, "../../bin/fairlead");
const TEXT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO  Fairlead is at http:\S+/m;
const JSON_LINE = /^\{"level":"info","time":"[^"]+Z",.*"msg":"Fairlead is at http:[^"]+"\}\r?$/m;

describe("the log of a process", { concurrency: true }, () => {
  let databaseUrl: string;
  before(async () => {
    databaseUrl = await freshDatabase();
  });

  const settings = (dataDir: string, more: Record<string, string> = {}) => ({
    ...PATIENT,
    FAIRLEAD_DATABASE_URL: databaseUrl,
    FAIRLEAD_DATA_DIR: dataDir,
    FAIRLEAD_PORT: "0",
    ...more,
  });

  /** What a web process shows on a terminal until it says where it is. */
  async function onTerminal(env: Record<string, string>): Promise<string> {
    const child = spawn("script", ["-qefc", `echo pid $$; exec ${program} web`, "/dev/null"], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...env },
    });
    let shown = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
    await until("it says where it is", async () => shown.includes("Fairlead is at "));
    process.kill(Number(/^pid (\d+)/.exec(shown)?.[1]), "SIGTERM");
    await once(child, "close");
    return shown;
  }

  test("is text on a terminal, and JSON if that is asked for", () =>
    withDirectory(async (directory) => {
      assert.match(await onTerminal(settings(directory)), TEXT);
      assert.match(await onTerminal(settings(directory, { FAIRLEAD_LOG_FORMAT: "json" })), JSON_LINE);
    }));

  test("is JSON in a pipe, and text if that is asked for", () =>
    withDirectory(async (directory) => {
      for (const [format, line] of [
        ["auto", JSON_LINE],
        ["text", TEXT],
      ] as const) {
        const web = start(["web"], settings(directory, { FAIRLEAD_LOG_FORMAT: format }));
        await web.says(line);
        const { code, stdout, stderr } = await web.stop();
        assert.deepEqual([code, stderr], [0, ""]);
        if (format === "auto") for (const each of stdout.trimEnd().split("\n")) JSON.parse(each);
      }
    }));

  test("goes to a file that several processes append to", () =>
    withDirectory(async (directory) => {
      const file = join(directory, "log");
      const env = settings(directory, { FAIRLEAD_LOG_FILE: file });
      const processes = [start(["web"], env), start(["worker"], env)];
      const read = () => readFile(file, "utf8").catch(() => "");
      const haveBothLogged = async () => {
        const text = await read();
        return text.includes("Fairlead is at") && text.includes("working on critical");
      };
      await until("both have logged", haveBothLogged);
      for (const each of processes) {
        const { code, stdout, stderr } = await each.stop();
        assert.deepEqual([code, stdout, stderr], [0, "", ""]);
      }
      const lines = (await read()).trimEnd().split("\n");
      assert.equal(lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "stopping").length, 2);
    }));

  test("holds the warnings of Node.js, which otherwise go to standard error", () =>
    withDirectory(async (directory) => {
      const warn = "data:text/javascript,setInterval(()=>process.emitWarning(`leaky`),500).unref()";
      const web = start(["web"], settings(directory, { NODE_OPTIONS: `--import=${warn}` }));
      await web.says(/^\{"level":"warn".*"message":"leaky".*"msg":"warning of Node\.js"\}$/m);
      const before = web.stderr();
      await web.says(JSON_LINE);
      const { code, stderr } = await web.stop();
      assert.deepEqual([code, stderr], [0, before], "only warnings before the log was opened");
    }));

  for (const command of ["web", "worker", "ssh"]) {
    test(`does not keep ${command} from stopping once its reader went away`, () =>
      withDirectory(async (directory) => {
        const env = { ...process.env, ...settings(directory, { FAIRLEAD_SSH_PORT: "0" }) };
        const child = spawn(program, [command], { stdio: ["ignore", "pipe", "inherit"], env });
        try {
          let shown = "";
          child.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
          await until("it has started", async () => / is at |"working on /.test(shown));
          child.stdout.destroy();
          child.kill("SIGTERM");
          await until("it has ended", async () => child.exitCode !== null || child.signalCode !== null);
          assert.equal(child.exitCode, 0);
        } finally {
          child.kill("SIGKILL");
        }
      }));
  }
});
