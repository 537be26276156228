import assert from "node:assert/strict";
import { existsSync, globSync, statSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FLUSH, packet } from "#git/pkt-line.ts";
import { projectRepository } from "#git/storages/storage.ts";
import { git, gitOutput } from "#test/support/git.ts";
import { type ClientKey, type SshTools, sshTools } from "#test/support/ssh.ts";
import { until } from "#test/support/until.ts";
import { send } from "#test/support/wire.ts";
import { type Client, newClient } from "./client.ts";
import { type Installation, type User, type Project, startInstallation } from "./installation.ts";
import { floodOfHandshakes } from "./handshakes.ts";
import { judgesOf } from "./judges.ts";
import { randomFrom } from "./random.ts";

const ZERO = "0".repeat(40);
const WORDS = " report-status side-band-64k agent=test";

describe("hostile use of git", () => {
  let installation: Installation;
  let client: Client;
  let tools: SshTools;
  let project: Project;
  let user: User;
  let key: ClientKey;
  /** A directory that must stay empty. */
  let outside: string;
  let tip: string;

  before(async () => {
    installation = await startInstallation();
    await installation.server().sshReady();
    client = await newClient();
    tools = await sshTools();
    outside = await mkdtemp(join(tmpdir(), "fairlead-outside-"));
    user = await installation.createUser("mallory");
    project = await installation.createProject("Harbour", { visibility: "private" });
    await installation.call("POST", `/projects/${project.id}/members`, {
      body: { user_id: user.id, access_level: 40 },
    });
    key = await tools.makeKey("ed25519");
    await installation.call("POST", "/user/keys", { token: user.token, body: { title: "mallory", key: key.line } });
    const ids = await client.commits("harbour", 3);
    tip = ids.at(-1) ?? "";
    const { code, output } = await client.push(installation.address(project, user), [
      { ref: "refs/heads/main", id: tip },
    ]);
    assert.equal(code, 0, output);
  });
  after(async () => {
    await installation.close();
    await client[Symbol.asyncDispose]();
    await tools.close();
    await rm(outside, { recursive: true, force: true });
  });

  const port = () => Number(new URL(installation.server().url).port);
  const basic = () => `Basic ${Buffer.from(`mallory:${user.token}`).toString("base64")}`;
  const request = (method: string, target: string, body?: object) =>
    send(port(), method, target, {
      headers: {
        host: "localhost",
        ...(target.startsWith("/api/") ? { "private-token": user.token } : { authorization: basic() }),
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  const env = () => tools.gitEnv(tools.withKey(key));

  /** Size and mtime of every file of the installation except those of PostgreSQL. */
  const snapshot = () =>
    globSync(join(installation.dataDir, "**/*"), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        const { size, mtimeMs } = statSync(path);
        return `${path} ${size} ${mtimeMs}`;
      })
      .toSorted();

  /** The files of a repository other than objects and refs, which no request may change. */
  const settingsOf = async () => {
    const directory = installation.directory(project) ?? "";
    const names = (await readdir(directory)).filter(
      (name) => !["objects", "refs", "packed-refs", "info", "fairlead-packed"].includes(name),
    );
    const files = names.filter((name) => statSync(join(directory, name)).isFile());
    const contents = await Promise.all(files.map((name) => readFile(join(directory, name), "utf8")));
    return { names: names.toSorted(), contents };
  };

  /** Names that a program could take for an option, a command or another path. */
  const names = () => {
    const file = join(outside, "canary");
    return [
      ...[
        `--output=${file}`,
        `--output-directory=${outside}`,
        `-o${file}`,
        `--upload-pack=touch ${file}`,
        "--no-index",
      ],
      ...[
        `--exec=touch ${file}`,
        "--help",
        "-h",
        "--all",
        "--stdin",
        "--batch-all-objects",
        "--not",
        "-",
        "--",
        "--git-dir=/",
      ],
      ...[
        `main --output=${file}`,
        `main\n--output=${file}`,
        `main;touch ${file}`,
        `$(touch ${file})`,
        `\`touch ${file}\``,
      ],
      ...[
        `|touch ${file}`,
        `main;touch\${IFS}${file}`,
        "main:../../config",
        ":/harbour",
        "main^{/harbour}",
        "@{-1}",
        "@{u}",
      ],
      ...[
        ":0:README.md",
        "../../HEAD",
        "refs/../HEAD",
        "^main",
        "main\0x",
        "ref: refs/heads/main",
        "main^@",
        "main:",
        "%00",
      ],
      ...[
        "..\\..\\config",
        "/etc/passwd",
        "../../../../../../etc/passwd",
        ".git/config",
        "\u202emain",
        "ma\u00adin",
        "\ud800",
      ],
    ];
  };
  const repository = () => `/api/v4/projects/${project.id}/repository`;

  describe("names that are options or commands", () => {
    test("the control: git itself would write to a file", async () => {
      const file = join(outside, "proof");
      await git(["log", `--output=${file}`], { cwd: installation.directory(project) ?? "", env: TRUSTING });
      assert.ok(existsSync(file));
      await rm(file);
    });

    test("reads find nothing else and write nothing", async () => {
      const before = snapshot();
      const base = repository();
      for (const name of names()) {
        const [n, q] = [encodeURIComponent(name.toWellFormed()), new URLSearchParams({ n: name }).toString().slice(2)];
        for (const target of [
          ...[
            `${base}/tree?ref=${q}`,
            `${base}/tree?path=${q}`,
            `${base}/commits?ref_name=${q}`,
            `${base}/commits?path=${q}`,
          ],
          ...[`${base}/commits/${n}`, `${base}/commits/${n}/diff`, `${base}/commits/${n}/refs`, `${base}/blobs/${n}`],
          ...[`${base}/compare?from=${q}&to=main`, `${base}/compare?from=main&to=${q}`, `${base}/archive?sha=${q}`],
          ...[
            `${base}/merge_base?refs[]=${q}&refs[]=main`,
            `${base}/files/${n}?ref=main`,
            `${base}/files/${n}/raw?ref=main`,
          ],
          ...[
            `${base}/files/harbour-1.bin?ref=${q}`,
            `${base}/branches/${n}`,
            `${base}/tags/${n}`,
            `${base}/archive?path=${q}`,
          ],
          ...[`${base}/branches?search=${q}`, `${base}/tags?search=${q}`, `${base}/contributors?ref=${q}`],
        ]) {
          const { status, text } = await request("GET", target);
          assert.ok(status < 500, `${status} for ${target}: ${text.slice(0, 200)}`);
          assert.ok(!text.includes("root:x:") && !text.includes("[core]"), `${target} exposed an outside file`);
          if (name.startsWith("-"))
            assert.ok(status >= 400 || /\?(search|path)=/.test(target), `${status} for ${target}`);
        }
      }
      assert.deepEqual(await readdir(outside), []);
      assert.deepEqual(snapshot(), before);
    });

    test("writes use them only as names", async () => {
      const before = await settingsOf();
      const base = repository();
      const action = (path: string) => ({ action: "create", file_path: path, content: "x" });
      const message = "x";
      for (const name of names()) {
        const n = encodeURIComponent(name.toWellFormed());
        for (const [method, target, body] of [
          ["POST", `${base}/branches`, { branch: "copy", ref: name }],
          ["POST", `${base}/branches`, { branch: name, ref: "main" }],
          ["DELETE", `${base}/branches/${n}`, {}],
          ["POST", `${base}/tags`, { tag_name: name, ref: "main", message: name }],
          ["POST", `${base}/tags`, { tag_name: "copy", ref: name }],
          ["DELETE", `${base}/tags/${n}`, {}],
          [
            "POST",
            `${base}/commits`,
            { branch: name, start_branch: "main", commit_message: message, actions: [action("a")] },
          ],
          [
            "POST",
            `${base}/commits`,
            { branch: "other", start_branch: name, commit_message: message, actions: [action("a")] },
          ],
          ["POST", `${base}/commits`, { branch: "main", commit_message: name, actions: [action(name)] }],
          [
            "POST",
            `${base}/commits`,
            { branch: "main", commit_message: "x", author_name: name, author_email: name, actions: [action("b")] },
          ],
          ["POST", `${base}/files/${n}`, { branch: "main", commit_message: message, content: "x" }],
          ["POST", `${base}/commits/${n}/revert`, { branch: "main" }],
        ] as const) {
          const { status, text } = await request(method, target, body);
          assert.ok(status < 500, `${status} for ${method} ${target} ${JSON.stringify(body)}: ${text.slice(0, 200)}`);
        }
      }
      assert.deepEqual(await readdir(outside), []);
      assert.deepEqual(await settingsOf(), before);
      assert.deepEqual(await installation.fsck(project), []);
    });
  });

  describe("paths that escape", () => {
    const SERVICE = "info/refs?service=git-upload-pack";
    const served = async (target: string) => {
      const { status, text } = await request("GET", target);
      assert.ok(status < 500, `${status} for ${target}`);
      assert.ok(!text.includes("root:x:") && !text.includes("[core]"), `${target} exposed an outside file`);
      return status === 200 && text.startsWith("001e# service=");
    };

    test("find nothing, in any encoding", async () => {
      const name = projectRepository(project.id);
      assert.equal(await served(`/${project.path}.git/${SERVICE}`), true);
      for (const place of [
        ...[name, `${name}.git`, `repositories/${name}.git`, `default/${name}.git`, `%40${name.slice(1)}.git`],
        ...[
          "../repositories",
          "..",
          ".",
          "%2e%2e",
          "%2e%2e%2f%2e%2e%2fetc",
          "..%2f..%2f..%2fetc",
          "..%5c..%5cetc",
          "..\\..\\etc",
        ],
        ...[
          "%252e%252e%252fetc",
          "%c0%ae%c0%ae%c0%afetc",
          "%ef%bc%8e%ef%bc%8e/etc",
          "....//....//etc",
          "..;/..;/etc",
          "~root",
        ],
        ...[
          `${project.path}%00`,
          `${project.path}%00.git`,
          `${project.path}%0a`,
          `${project.path}%20`,
          `${project.path}%2f..`,
        ],
        ...[
          `x/../../../${name}`,
          `${project.path}.git/../../${name}`,
          `${project.path}/%2e%2e/%2e%2e/${name}`,
          "file:///etc",
        ],
        ...[
          installation.directory(project)?.slice(1) ?? "",
          `%2f${installation.directory(project)?.slice(1)}`,
          "etc/passwd",
        ],
        ...[`-/${project.path}`, `--upload-pack=x/${project.path}`, `${project.path}.git.git`, `${project.path}.wiki`],
      ]) {
        for (const target of [`/${place}/${SERVICE}`, `/${place}.git/${SERVICE}`]) {
          assert.equal(await served(target), false, target);
        }
      }
    });

    test("files of a repository are not served", async () => {
      const directory = installation.directory(project) ?? "";
      const real = globSync("objects/**/*.{pack,idx}", { cwd: directory });
      assert.ok(real.length > 0);
      for (const file of [
        ...[
          "HEAD",
          "config",
          "description",
          "packed-refs",
          "index",
          "logs/HEAD",
          "hooks",
          "hooks/pre-receive",
          "refs/heads/main",
        ],
        ...["objects", "objects/info/packs", "objects/info/alternates", "objects/info/http-alternates", "info/exclude"],
        ...[
          "info/../config",
          "info/..%2fconfig",
          "%63onfig",
          "git-upload-archive",
          "git-shell",
          "info/lfs/objects/batch",
        ],
        ...real,
      ]) {
        const { status } = await request("GET", `/${project.path}.git/${file}`);
        assert.equal(status, 404, file);
      }
      for (const query of [
        "",
        "?service=",
        "?service=git-upload-archive",
        "?service=upload-pack",
        "?service=git-upload-pack%00",
      ]) {
        const { status, text } = await request("GET", `/${project.path}.git/info/refs${query}`);
        assert.ok(status >= 400 && status < 500, `${status} for info/refs${query}`);
        assert.ok(!text.includes(tip), query);
      }
    });
  });

  describe("configuration and hooks of the server", () => {
    const push = (lines: readonly string[], pack = Buffer.alloc(0)) =>
      send(port(), "POST", `/${project.path}.git/git-receive-pack`, {
        headers: {
          host: "localhost",
          authorization: basic(),
          "content-type": "application/x-git-receive-pack-request",
        },
        body: Buffer.concat([...lines.map((line, at) => packet(at === 0 ? `${line}\0${WORDS}` : line)), FLUSH, pack]),
      });

    test("a ref with the name of a file does not change them", async () => {
      const before = [snapshot(), await settingsOf()];
      for (const ref of [
        ...["config", "HEAD", "hooks/pre-receive", "../config", "refs/../config", "refs/heads/../../config"],
        ...[
          "refs/../hooks/post-receive",
          "refs/heads/../../hooks/update",
          "refs/heads/.git/config",
          "refs/heads//config",
        ],
        ...[
          "/etc/passwd",
          "refs/heads/\u0001",
          "refs/heads/x.lock",
          "refs/heads/.lock",
          "refs/heads/a..b",
          "refs/heads/a b",
        ],
        ...[
          "refs/heads/@{x}",
          "refs/heads/-",
          "objects/info/alternates",
          "refs/fairlead/x",
          "refs/",
          "refs/heads/",
          "\\x",
        ],
      ]) {
        const { status, text } = await push([`${ZERO} ${tip} ${ref}`]);
        assert.ok(status < 500, `${status} for ${ref}`);
        assert.ok(!text.includes(`ok ${ref}`) || text.includes("ng "), `${ref} was taken: ${text}`);
      }
      assert.deepEqual([snapshot(), await settingsOf()], before);
    });

    test("hooks are writable only by their owner", async () => {
      const directory = join(import.meta.dirname, "../../src/git/hooks");
      for (const path of [directory, ...(await readdir(directory)).map((name) => join(directory, name))]) {
        assert.equal(statSync(path).mode & 0o022, 0, path);
      }
      assert.ok(!existsSync(join(installation.directory(project) ?? "", "hooks")));
    });

    test("push options do not reach them", async () => {
      const address = installation.address(project, user);
      const file = join(outside, "option");
      const options = [`ci;touch ${file}`, `$(touch ${file})`, "a=b", "--receive-pack=x", "%00", "x".repeat(1024)];
      const given = options.flatMap((option) => ["-o", option]);
      const taken = await client.push(address, [{ ref: "refs/heads/optional", id: tip }], { options: given });
      assert.equal(taken.outcomes.get("refs/heads/optional"), "done", taken.output);
      for (const odd of [
        ["-o", "a\tb"],
        ["-o", "\u00e9"],
        ["-o", "x".repeat(1025)],
        Array.from({ length: 17 }, (_, n) => `-oa${n}`),
      ]) {
        const { outcomes, output } = await client.push(address, [{ ref: "refs/heads/odd", id: tip }], { options: odd });
        assert.equal(outcomes.get("refs/heads/odd"), "refused", output);
      }
      assert.deepEqual(await readdir(outside), []);
    });
  });

  describe("over SSH", () => {
    const shell = (options: readonly string[], command: readonly string[] = []) =>
      tools.ssh([...tools.withKey(key), ...options], installation.sshPort, command, "echo reached\nexit\n");

    test("there is no shell, terminal, other program or forwarding", async () => {
      const file = join(outside, "ssh");
      for (const greeted of [await shell([]), await shell(["-tt"])]) assert.doesNotMatch(greeted.stdout, /reached/);
      for (const [what, ended] of Object.entries({
        command: await shell([], [`touch ${file}`]),
        "command behind git": await shell([], [`git-upload-pack '${project.path}.git'; touch ${file}`]),
        "option of git": await shell([], [`git-upload-pack --exec='touch ${file}' '${project.path}.git'`]),
        "another verb": await shell([], [`git-upload-archive '${project.path}.git'`]),
        subsystem: await shell(["-s"], ["sftp"]),
        "connection to elsewhere": await shell([`-W127.0.0.1:${port()}`]),
      })) {
        assert.notEqual(ended.code, 0, what);
        assert.ok(!ended.stdout.includes("reached"), `${what}: ${ended.stdout}`);
      }
      assert.deepEqual(await readdir(outside), []);
    });

    test("no port is forwarded in either direction", async () => {
      for (const forward of [`-R0:127.0.0.1:${port()}`, `-R${outside}/socket:127.0.0.1:${port()}`]) {
        const { code } = await shell(["-oExitOnForwardFailure=yes", "-N", forward]);
        assert.equal(code, 255, forward);
      }
    });

    test("a client cannot set the environment of git", async () => {
      const file = join(outside, "env");
      const set = ["GIT_TRACE", "GIT_CONFIG_GLOBAL", "LD_PRELOAD", "GIT_SSH_COMMAND", "GIT_DIR"].map(
        (name) => `${name}=${file}`,
      );
      const options = [`-oSetEnv=${[...set, "GIT_PROTOCOL=version=2:--split-string=x"].join(" ")}`];
      const { stdout } = await shell(options, [`git-upload-pack '${project.path}.git'`]);
      assert.match(stdout, /^[0-9a-f]{44} HEAD/, "the refs come in the first version of the protocol");
      assert.deepEqual(await readdir(outside), []);
    });

    test("of 50,000 random commands each is accepted whole or refused", () => {
      const judge = judgesOf().find(({ name }) => name === "commands");
      assert.ok(judge);
      const random = randomFrom(64);
      for (let n = 0; n < 50_000; n++) {
        const bytes: Buffer = judge.make(random);
        assert.equal(judge.problemOf(bytes, random), undefined, JSON.stringify(bytes.toString()));
      }
    });

    test("a flood of handshakes does not keep others out", async () => {
      const flood = floodOfHandshakes(installation.sshPort);
      for (let n = 0; n < 21; n++) {
        assert.equal((await request("GET", `/api/v4/projects/${project.id}`)).status, 200);
      }
      flood.end();
      const list = () => git(["ls-remote", installation.sshAddress(project)], { cwd: outside, env: env() });
      await until("the places of the flood are free", async () => (await list()).code === 0);
    });
  });

  describe("a project that becomes private", () => {
    test("is refused to the next request, while others clone it", async () => {
      const open = await installation.createProject("Open", { visibility: "public" });
      const address = `${installation.server().url}/${open.path}.git`;
      const ids = await client.commits("open", 1, { bytes: 1_000_000 });
      await client.push(installation.address(open, { username: "root", token: installation.server().token }), [
        { ref: "refs/heads/main", id: ids[0] ?? "" },
      ]);
      for (let round = 0; round < 5; round++) {
        await installation.call("PUT", `/projects/${open.id}`, { body: { visibility: "public" } });
        let isClosed = false;
        const late: string[] = [];
        const readers = Array.from({ length: 6 }, async (_, n) => {
          for (let turn = 0; turn < 3; turn++) {
            const wasClosed = isClosed;
            const { code } = await git(["ls-remote", address], { cwd: outside });
            if (wasClosed && code === 0) late.push(`reader ${n} in round ${round}`);
          }
        });
        await sleep(Math.random() * 100);
        await installation.call("PUT", `/projects/${open.id}`, { body: { visibility: "private" } });
        isClosed = true;
        await Promise.all(readers);
        assert.deepEqual(late, []);
      }
    });
  });
});

describe("more pushes than slots", () => {
  let installation: Installation;
  before(async () => {
    installation = await startInstallation({ FAIRLEAD_GIT_PROCESSES: "1" });
  });
  after(() => installation.close());

  test("wait for a while or are refused with 503, and succeed when slots are free", async () => {
    const project = await installation.createProject("Busy");
    await using client = await newClient();
    const [id = ""] = await client.commits("busy", 1);
    const root = { username: "root", token: installation.server().token };
    const address = installation.address(project, root);
    const { code, output } = await client.push(address, [{ ref: "refs/heads/main", id }]);
    assert.equal(code, 0, output);
    // Each begins a push and then sends nothing.
    const stalled = Array.from({ length: 9 }, (_, n) => {
      const socket = connect(Number(new URL(installation.server().url).port), "127.0.0.1");
      socket.on("error", () => {});
      const line = packet(`${ZERO} ${id} refs/heads/stalled-${n}\0${WORDS}`);
      socket.write(
        `POST /${project.path}.git/git-receive-pack HTTP/1.1\r\nhost: localhost\r\n` +
          `authorization: Basic ${Buffer.from(`root:${root.token}`).toString("base64")}\r\n` +
          `content-type: application/x-git-receive-pack-request\r\ncontent-length: 100000\r\n\r\n`,
      );
      socket.write(Buffer.concat([line, FLUSH]));
      return socket;
    });
    const slots = async () => {
      const text = await (await fetch(`${installation.server().url}/-/metrics`)).text();
      const count = (name: string) => Number(new RegExp(`^${name}\\{class="transfer"\\} (\\d+)$`, "m").exec(text)?.[1]);
      return [count("fairlead_git_slots_in_use"), count("fairlead_git_slots_waiting")].join();
    };
    // One caller may take a quarter of the places to wait.
    await until("one has the slot and two wait", async () => (await slots()) === "1,2");
    const refused = await client.push(address, [{ ref: "refs/heads/other", id }]);
    assert.notEqual(refused.outcomes.get("refs/heads/other"), "done");
    assert.match(refused.output, /503/);
    const api = await fetch(`${installation.server().url}/api/v4/version`, {
      headers: { "private-token": root.token },
    });
    assert.equal(api.status, 200);
    for (const socket of stalled) socket.destroy();
    await until("the slot is free", async () => (await slots()) === "0,0");
    const again = await client.push(address, [{ ref: "refs/heads/other", id }]);
    assert.equal(again.outcomes.get("refs/heads/other"), "done", again.output);
  });
});

describe("20,000 tags in one push", () => {
  let installation: Installation;
  let storage: string;
  before(async () => {
    // Every tag is synced on its own, which this test does not measure.
    storage = await mkdtemp(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "fairlead-tags-"));
    installation = await startInstallation({ FAIRLEAD_STORAGES: `default=${storage}` });
  });
  after(async () => {
    await installation.close();
    await rm(storage, { recursive: true, force: true });
  });

  test("are accepted, recorded as one event, and fetched", async () => {
    await using client = await newClient();
    const cwd = client.directory;
    const tools = await sshTools();
    const key = await tools.makeKey("ed25519");
    await installation.call("POST", "/user/keys", { body: { title: "many", key: key.line } });
    await installation.server().sshReady();
    const project = await installation.createProject("Many");
    const [id = ""] = await client.commits("many", 1);
    const input = Array.from({ length: 20_000 }, (_, n) => `create refs/tags/v${n} ${id}\n`).join("");
    await gitOutput(["update-ref", "--stdin"], { cwd, input });
    // Over HTTP the git client takes quadratic time for so many refs.
    const address = installation.sshAddress(project);
    const env = tools.gitEnv(tools.withKey(key));
    const { code, stderr } = await git(["push", address, "refs/tags/*:refs/tags/*"], { cwd, env });
    assert.equal(code, 0, stderr.slice(0, 500));
    const events = await installation.query(
      "select ref_type, ref_count from events where project_id = $1 and push_action is not null",
      [project.id],
    );
    assert.deepEqual(events, [{ ref_type: "tag", ref_count: 20_000 }]);
    const listed = await gitOutput(["ls-remote", "--tags", address], { cwd, env });
    assert.equal(listed.split("\n").length, 20_000);
    await tools.close();
  });

  test("are refused one by one if their names are too long for a file", async () => {
    await using client = await newClient();
    const project = await installation.createProject("Refused");
    const [id = ""] = await client.commits("many", 1);
    const address = installation.address(project, { username: "root", token: installation.server().token });
    const changes = Array.from({ length: 500 }, (_, n) => ({ ref: `refs/heads/${"x".repeat(300)}-${n}`, id }));
    const { outcomes, output } = await client.push(address, changes);
    assert.deepEqual(new Set(outcomes.values()), new Set(["refused"]), output.slice(0, 500));
    assert.ok(!output.includes(storage), "the path of the repository is not exposed");
  });
});

const TRUSTING = { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "safe.directory", GIT_CONFIG_VALUE_0: "*" };
