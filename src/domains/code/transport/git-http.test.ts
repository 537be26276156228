import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { connect } from "node:net";
import { sql } from "kysely";
import { LEVELS } from "#access/roles.ts";
import { SCOPES } from "#access/scopes.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { git, gitOutput, removeWorkingCopies, workingCopy } from "#test/support/git.ts";
import { holdMinute } from "#test/support/minute.ts";
import { until } from "#test/support/until.ts";
import { listen, send } from "#test/support/wire.ts";

type Visibility = "private" | "internal" | "public";

interface Project {
  readonly id: number;
  readonly path: string;
}

const FLUSH = "0000";
const packet = (text: string) => (text.length + 4).toString(16).padStart(4, "0") + text;
const READ_ONLY = "The repository is temporarily read-only. Please try again later.";
const SIGN_IN = "Sign in with any user name and a token as the password.";
const NOT_THERE = "There is no repository at this address, or you may not see it.";

describe("git over HTTP", () => {
  let app: TestApp;
  let port: number;
  let owner: TestUser;
  let stranger: TestUser;
  let directory: string;

  before(async () => {
    app = await testApp();
    port = await listen(app);
    owner = await app.makeUser();
    stranger = await app.makeUser();
    directory = await mkdtemp(join(tmpdir(), "fairlead-clones-"));
  });
  after(async () => {
    await app.close();
    await removeWorkingCopies();
    await rm(directory, { recursive: true, force: true });
  });

  const address = (path: string, token?: string) =>
    `http://${token === undefined ? "" : `any:${token}@`}127.0.0.1:${port}/${path}.git`;
  const place = () => join(directory, randomUUID());
  const here = () => ({ cwd: directory });

  async function makeProject(visibility: Visibility = "private"): Promise<Project> {
    const name = `p-${randomUUID().slice(0, 8)}`;
    const { status, body } = await app.post("/projects", { token: owner.token, payload: { name, visibility } });
    assert.equal(status, 201);
    return { id: body.id, path: body.path_with_namespace };
  }

  /** A project with one commit on `main`, and the working copy that it was pushed from. */
  async function makeCode(visibility: Visibility = "private"): Promise<Project & { copy: string }> {
    const project = await makeProject(visibility);
    const copy = await workingCopy();
    await gitOutput(["push", "--quiet", address(project.path, owner.token), "main"], { cwd: copy });
    return { ...project, copy };
  }

  async function commitFile(copy: string, name: string, content: string | Buffer): Promise<string> {
    await writeFile(join(copy, name), content);
    await gitOutput(["add", "."], { cwd: copy });
    await gitOutput(["commit", "--quiet", `--message=Add ${name}`], { cwd: copy });
    return gitOutput(["rev-parse", "HEAD"], { cwd: copy });
  }

  async function makeMember(project: Project, level: number): Promise<TestUser> {
    const user = await app.makeUser();
    await app.services.db.write
      .insertInto("members")
      .values({ project_id: project.id, user_id: user.id, access_level: level })
      .execute();
    return user;
  }

  const basic = (token: string) => ({ authorization: `Basic ${Buffer.from(`any:${token}`).toString("base64")}` });
  const refs = (path: string, service: string, headers: Record<string, string> = {}) =>
    send(port, "GET", `/${path}.git/info/refs?service=${service}`, { headers });
  const post = (
    path: string,
    service: string,
    body: string | Buffer,
    headers: Record<string, string> = basic(owner.token),
  ) =>
    send(port, "POST", `/${path}.git/${service}`, {
      body,
      headers: { "content-type": `application/x-${service}-request`, ...headers },
    });
  /** What a client sends to fetch one commit by the first version of the protocol. */
  const wanting = (id: string) => `${packet(`want ${id} ofs-delta\n`)}${FLUSH}${packet("done\n")}`;

  /** The running git processes of this process. */
  const gitChildren = () =>
    readdirSync("/proc").filter((pid) => {
      if (!/^\d+$/.test(pid)) return false;
      try {
        const [, name, , parent] = /^\d+ \((.*)\) (\S+) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "latin1")) ?? [];
        const cat = readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("cat-file");
        return name === "git" && Number(parent) === process.pid && !cat;
      } catch {
        return false;
      }
    });

  describe("serves", () => {
    test("a clone, by each version of the protocol", async () => {
      const { path, copy } = await makeCode();
      for (const [version, said] of [
        ["0", /git< # service=git-upload-pack/],
        ["1", /git< version 1/],
        ["2", /git< version 2/],
      ] as const) {
        const to = place();
        const from = address(path, owner.token);
        const { code, stderr } = await git(["-c", `protocol.version=${version}`, "clone", from, to], {
          ...here(),
          env: { GIT_TRACE_PACKET: "1" },
        });
        assert.equal(code, 0, stderr);
        assert.match(stderr, said);
        assert.equal(await readFile(join(to, "README.md"), "utf8"), "# Harbour\n");
        assert.equal(
          await gitOutput(["rev-parse", "HEAD"], { cwd: to }),
          await gitOutput(["rev-parse", "HEAD"], { cwd: copy }),
        );
      }
    });

    test("an empty repository", async () => {
      const { path } = await makeProject();
      const { code, stderr } = await git(["clone", address(path, owner.token), place()], here());
      assert.equal(code, 0, stderr);
      assert.match(stderr, /You appear to have cloned an empty repository/);
    });

    test("later commits to a fetch, also by a request that git compresses", async () => {
      const { path, copy } = await makeCode();
      const to = place();
      const from = address(path, owner.token);
      await gitOutput(["clone", "--quiet", from, to], here());
      // So many commits that the request exceeds the 1024 bytes above which git compresses it.
      for (let n = 0; n < 40; n++) {
        // Each later than the one before, so that common commits are sent last.
        const env = { GIT_COMMITTER_DATE: `${Math.floor(Date.now() / 1000) + 60 + n} +0000` };
        await gitOutput(["commit", "--allow-empty", "--quiet", `--message=${n}`], { cwd: to, env });
      }
      const id = await commitFile(copy, "pier.txt", "oak\n");
      await gitOutput(["push", "--quiet", from, "main"], { cwd: copy });
      const { code, stderr } = await git(["fetch", "origin"], { cwd: to, env: { GIT_TRACE_CURL: "1" } });
      assert.equal(code, 0, stderr);
      assert.match(stderr, /Content-Encoding: gzip/);
      assert.equal(await gitOutput(["rev-parse", "origin/main"], { cwd: to }), id);
    });

    test("shallow and partial clones, and what they fetch later", async () => {
      const { path, copy } = await makeCode();
      await commitFile(copy, "pier.txt", "oak\n");
      const from = address(path, owner.token);
      await gitOutput(["push", "--quiet", from, "main"], { cwd: copy });

      const shallow = place();
      await gitOutput(["clone", "--quiet", "--depth=1", from, shallow], here());
      assert.equal(await gitOutput(["rev-list", "--count", "HEAD"], { cwd: shallow }), "1");
      await gitOutput(["fetch", "--quiet", "--unshallow"], { cwd: shallow });
      assert.equal(await gitOutput(["rev-list", "--count", "HEAD"], { cwd: shallow }), "2");

      const partial = place();
      await gitOutput(["clone", "--quiet", "--bare", "--filter=blob:none", from, partial], here());
      const objects = () => gitOutput(["rev-list", "--objects", "--missing=print", "HEAD"], { cwd: partial });
      assert.match(await objects(), /^\?/m);
      assert.equal(await gitOutput(["show", "HEAD:pier.txt"], { cwd: partial }), "oak");
    });

    test("ls-remote, a path without .git, in capitals, and a previous path", async () => {
      const { id, path, copy } = await makeCode();
      const head = await gitOutput(["rev-parse", "HEAD"], { cwd: copy });
      const from = address(path, owner.token);
      const moved = `${path}-moved`;
      const lists = async (at: string) =>
        assert.equal(await gitOutput(["ls-remote", at], here()), `${head}\tHEAD\n${head}\trefs/heads/main`, at);
      await lists(from);
      await lists(from.replace(/\.git$/, ""));
      await lists(address(path.toUpperCase(), owner.token));
      const renamed = await app.put(`/projects/${id}`, { token: owner.token, payload: { path: moved.split("/")[1] } });
      assert.equal(renamed.status, 200);
      await lists(from);
      await lists(address(moved, owner.token));
      await commitFile(copy, "later.txt", "later\n");
      await gitOutput(["push", "--quiet", from, "main"], { cwd: copy });
    });

    test("pushes, small and in chunks", async () => {
      const { path, copy } = await makeCode();
      await commitFile(copy, "cargo.bin", randomBytes(3_000_000));
      const { code, stderr } = await git(
        ["-c", "http.postBuffer=65536", "push", address(path, owner.token), "main", "main:refs/tags/v1"],
        { cwd: copy, env: { GIT_TRACE_CURL: "1", GIT_TRACE_CURL_NO_DATA: "1" } },
      );
      assert.equal(code, 0, stderr);
      assert.match(stderr, /Transfer-Encoding: chunked/);
      const to = place();
      await gitOutput(["clone", "--quiet", "--branch=v1", address(path, owner.token), to], here());
      assert.deepEqual(await readFile(join(to, "cargo.bin")), await readFile(join(copy, "cargo.bin")));
    });

    test("twenty clones at once", async () => {
      const { path, copy } = await makeCode();
      await commitFile(copy, "cargo.bin", randomBytes(1_000_000));
      await gitOutput(["push", "--quiet", address(path, owner.token), "main"], { cwd: copy });
      const clone = () => git(["clone", "--quiet", address(path, owner.token), place()], here());
      const codes = (await Promise.all(Array.from({ length: 20 }, clone))).map(({ code }) => code);
      assert.deepEqual(
        codes,
        Array.from({ length: 20 }, () => 0),
      );
    });
  });

  describe("says", () => {
    test("refs with the right content types and first lines", async () => {
      const { path } = await makeCode("public");
      for (const [service, protocol, beginning] of [
        ["git-upload-pack", undefined, "001e# service=git-upload-pack\n0000"],
        ["git-upload-pack", "version=1", "001e# service=git-upload-pack\n0000000eversion 1\n"],
        ["git-upload-pack", "version=2", "000eversion 2\n"],
        ["git-upload-pack", "version=2 --upload-pack=x", "001e# service=git-upload-pack\n0000"],
        ["git-receive-pack", undefined, "001f# service=git-receive-pack\n0000"],
        ["git-receive-pack", "version=2", "001f# service=git-receive-pack\n0000"],
      ] as const) {
        const headers = { ...basic(owner.token), ...(protocol && { "git-protocol": protocol }) };
        const reply = await refs(path, service, headers);
        assert.equal(reply.status, 200);
        assert.equal(reply.headers["content-type"], `application/x-${service}-advertisement`);
        assert.equal(reply.headers["cache-control"], "no-cache");
        assert.equal(reply.text.slice(0, beginning.length), beginning);
        assert.equal(reply.text.slice(-4), FLUSH);
      }
    });

    test("the same for a request compressed by gzip", async () => {
      const { path, copy } = await makeCode();
      const body = wanting(await gitOutput(["rev-parse", "HEAD"], { cwd: copy }));
      const asIs = await post(path, "git-upload-pack", body);
      assert.equal(asIs.status, 200);
      assert.equal(asIs.headers["content-type"], "application/x-git-upload-pack-result");
      assert.equal(asIs.headers["cache-control"], "no-cache");
      assert.match(asIs.text, /^0008NAK\nPACK/);
      for (const encoding of ["gzip", "x-gzip"]) {
        const packed = await post(path, "git-upload-pack", gzipSync(body), {
          ...basic(owner.token),
          "content-encoding": encoding,
        });
        assert.equal(packed.text, asIs.text);
      }
    });

    test("100 Continue to a client that waits for it", async () => {
      const { path, copy } = await makeCode();
      const body = wanting(await gitOutput(["rev-parse", "HEAD"], { cwd: copy }));
      const sent = request({
        port,
        method: "POST",
        path: `/${path}.git/git-upload-pack`,
        agent: false,
        headers: {
          ...basic(owner.token),
          "content-type": "application/x-git-upload-pack-request",
          "content-length": body.length,
          expect: "100-continue",
        },
      });
      sent.flushHeaders();
      await once(sent, "continue");
      sent.end(body);
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      assert.equal(answer.statusCode, 200);
      answer.resume();
    });

    test("nothing to HEAD, and runs no process for it", async () => {
      const { path } = await makeCode("public");
      const reply = await send(port, "HEAD", `/${path}.git/info/refs?service=git-upload-pack`);
      assert.equal(reply.status, 200);
      assert.equal(reply.text, "");
      await until("git ended", async () => gitChildren().length === 0);
    });

    test("operations to log and metrics, and never a token", async () => {
      const { path } = await makeCode("private");
      const { id, token } = await app.makeToken(owner.id);
      await gitOutput(["clone", "--quiet", address(path, token), place()], here());
      const lines = app.logged.filter((line) => line.includes(path));
      assert.ok(lines.some((line) => /"operation":"repositories\.refs","status":200/.test(line)));
      assert.ok(lines.some((line) => line.includes(`"operation":"repositories.fetch","status":200`)));
      assert.ok(app.logged.some((line) => line.includes(`"token_id":${id}`)));
      assert.equal(app.logged.filter((line) => line.includes(token)).length, 0);
      assert.equal(
        app.logged.filter((line) => line.includes(Buffer.from(`any:${token}`).toString("base64"))).length,
        0,
      );
      const metrics = await app.get("/-/metrics", { token: (await app.makeUser({ admin: true })).token });
      assert.match(metrics.text, /operation="repositories\.fetch",status="200"/);
    });
  });

  describe("refuses", () => {
    test("a caller without a token in the same way for hidden and missing projects", async () => {
      const { path } = await makeCode("private");
      const internal = await makeCode("internal");
      for (const service of ["git-upload-pack", "git-receive-pack"]) {
        const refusals = [];
        for (const at of [path, internal.path, `${path}-not`, "nobody/nothing", "one", `${path}/deeper`]) {
          const { status, text, headers } = await refs(at, service);
          const { date: _, "x-request-id": __, ...rest } = headers;
          refusals.push(JSON.stringify({ status, text, rest }));
          const sent = await post(at, service, FLUSH, {});
          assert.deepEqual([sent.status, sent.text], [401, SIGN_IN], at);
        }
        assert.equal(new Set(refusals).size, 1);
        assert.match(refusals[0] ?? "", /"status":401/);
        assert.match(refusals[0] ?? "", /"www-authenticate":"Basic realm=\\"Fairlead\\""/);
        assert.match(refusals[0] ?? "", /"content-type":"text\/plain"/);
      }
    });

    test("a push without a token to a public project", async () => {
      const { path, copy } = await makeCode("public");
      const reply = await refs(path, "git-receive-pack");
      assert.deepEqual([reply.status, reply.text], [401, SIGN_IN]);
      const { code } = await git(["push", address(path), "main:x"], { cwd: copy });
      assert.notEqual(code, 0);
    });

    test("a caller who may not see a project, as if it did not exist", async () => {
      const { path } = await makeCode("private");
      for (const at of [path, "nobody/nothing", `${path}/deeper`, "1"]) {
        for (const service of ["git-upload-pack", "git-receive-pack"]) {
          const reply = await refs(at, service, basic(stranger.token));
          assert.deepEqual([reply.status, reply.text], [404, NOT_THERE], at);
          const sent = await post(at, service, FLUSH, basic(stranger.token));
          assert.deepEqual([sent.status, sent.text], [404, NOT_THERE], at);
        }
      }
      const { stderr } = await git(["clone", address(path, stranger.token), place()], here());
      assert.match(stderr, new RegExp(`remote: ${NOT_THERE}`));
    });

    test("an invalid token, with a helpful message", async () => {
      const { path } = await makeCode("public");
      const expired = await app.makeToken(owner.id, { expires_at: "2020-01-01" });
      for (const [headers, words] of [
        [basic("flpat-wrong"), /^Sign in with any user name/],
        [basic(""), /^Sign in/],
        [{ authorization: "Basic %%%" }, /^Sign in/],
        [basic(expired.token), /^Token is expired.* Sign in/],
        [{ ...basic(owner.token), "private-token": stranger.token }, /^Sign in/],
      ] as const) {
        const reply = await refs(path, "git-upload-pack", headers);
        assert.equal(reply.status, 401);
        assert.equal(reply.headers["www-authenticate"], 'Basic realm="Fairlead"');
        assert.match(reply.text, words);
      }
      const closed = await makeProject("private");
      const { stderr } = await git(["clone", address(closed.path, "flpat-wrong"), place()], here());
      assert.match(stderr, new RegExp(`remote: ${SIGN_IN}\nfatal: Authentication failed`));
    });

    test("a blocked user", async () => {
      const { path } = await makeCode("public");
      const blocked = await app.makeUser({ state: "blocked" });
      const reply = await refs(path, "git-upload-pack", basic(blocked.token));
      assert.deepEqual([reply.status, reply.text], [403, "403 Forbidden - Your account has been blocked."]);
    });

    test("requests outside the smart HTTP protocol", async () => {
      const { path } = await makeCode("public");
      for (const file of ["HEAD", "config", "objects/info/packs", "objects/pack/pack-1.idx", "info/attributes"]) {
        const reply = await send(port, "GET", `/${path}.git/${file}`);
        assert.deepEqual([reply.status, reply.headers["content-type"]], [404, "text/plain"], file);
      }
      for (const query of ["", "?service=git-upload-archive", "?service[]=git-upload-pack"]) {
        const reply = await send(port, "GET", `/${path}.git/info/refs${query}`);
        assert.deepEqual([reply.status, reply.headers["content-type"]], [400, "text/plain"], query);
      }
      const reply = await send(port, "GET", `/${path}.git/git-upload-pack`);
      assert.deepEqual([reply.status, reply.headers["content-type"]], [405, "text/plain"]);
    });

    test("a body that is not a git request", async () => {
      const { path, copy } = await makeCode();
      const id = await gitOutput(["rev-parse", "HEAD"], { cwd: copy });
      const body = wanting(id);
      for (const [status, payload, headers] of [
        [415, body, { "content-type": "text/plain" }],
        [415, body, { "content-type": "application/x-git-receive-pack-request" }],
        [415, body, { "content-encoding": "br" }],
        [400, body, { "content-encoding": "gzip" }],
        [400, gzipSync(body).subarray(0, 20), { "content-encoding": "gzip" }],
      ] as const) {
        const reply = await post(path, "git-upload-pack", payload, { ...basic(owner.token), ...headers });
        assert.deepEqual(
          [reply.status, reply.headers["content-type"]],
          [status, "text/plain"],
          JSON.stringify(headers),
        );
      }
      // Git was started before the request broke off, but has written nothing yet.
      const bomb = gzipSync(packet(`want ${id}\n`).repeat(700_000));
      const headers = { ...basic(owner.token), "content-encoding": "gzip" };
      assert.equal((await post(path, "git-upload-pack", bomb, headers)).status, 413);
      await until("git ended", async () => gitChildren().length === 0);
    });

    test("an unknown object in git's protocol, without logging an error", async () => {
      const { path } = await makeCode();
      for (const body of [wanting("1".repeat(40)), "zzzz", `${packet("want nonsense\n")}${FLUSH}`, ""]) {
        const before = app.logged.length;
        await post(path, "git-upload-pack", body).catch(() => undefined);
        await until("logged", async () => app.logged.length > before);
        assert.deepEqual(
          app.logged
            .slice(before)
            .filter((line) => ["error", "fatal"].includes(JSON.parse(line).level) || JSON.parse(line).status >= 500),
          [],
          body,
        );
      }
      const reply = await post(path, "git-upload-pack", wanting("1".repeat(40)));
      assert.equal(reply.status, 200);
      assert.match(reply.text, /ERR upload-pack: not our ref/);
      const unread = await post(path, "git-upload-pack", "zzzz");
      assert.deepEqual([unread.status, unread.headers["content-type"]], [400, "text/plain"]);
    });

    test("a request that breaks off, without logging an error", async () => {
      const { path } = await makeCode();
      for (const service of ["git-upload-pack", "git-receive-pack"]) {
        const before = app.logged.length;
        const socket = connect(port, "127.0.0.1").on("error", () => {});
        const lines = Object.entries({
          ...basic(owner.token),
          host: "localhost",
          "content-type": `application/x-${service}-request`,
          "content-length": "1000",
        }).map(([name, value]) => `${name}: ${value}\r\n`);
        const arrived = once(app.app.server, "request");
        socket.write(`POST /${path}.git/${service} HTTP/1.1\r\n${lines.join("")}\r\n0032want`);
        await arrived;
        setTimeout(() => socket.resetAndDestroy(), 200);
        await until("logged", async () => app.logged.length > before);
        const [line = "{}"] = app.logged.slice(before);
        assert.deepEqual([JSON.parse(line).level, JSON.parse(line).status], ["info", 400], line);
      }
    });

    test("a push while a repository is read-only, but no fetch", async () => {
      const { id, path, copy } = await makeCode();
      const until = sql<string>`now() + interval '1 minute'`;
      await app.services.db.write
        .updateTable("repositories")
        .set({ read_only_until: until })
        .where("project_id", "=", id)
        .execute();
      const reply = await refs(path, "git-receive-pack", basic(owner.token));
      assert.deepEqual([reply.status, reply.headers["content-type"], reply.text], [403, "text/plain", READ_ONLY]);
      // Its refs may have been advertised before.
      const change = packet(`${"0".repeat(40)} ${"1".repeat(40)} refs/heads/x\0 report-status`);
      const sent = await post(path, "git-receive-pack", change + FLUSH);
      assert.deepEqual([sent.status, sent.text.includes(`ng refs/heads/x ${READ_ONLY}`)], [200, true]);
      await commitFile(copy, "x", "x");
      const { code, stderr } = await git(["push", address(path, owner.token), "main"], { cwd: copy });
      assert.notEqual(code, 0);
      assert.match(stderr, new RegExp(`remote: ${READ_ONLY}`));
      await gitOutput(["clone", "--quiet", address(path, owner.token), place()], here());
    });

    test("a push to an archived project or one marked for deletion", async () => {
      const archived = await makeCode("public");
      await app.post(`/projects/${archived.id}/archive`, { token: owner.token });
      const ending = await makeCode("public");
      await app.delete(`/projects/${ending.id}`, { token: owner.token });
      for (const [{ path }, reason] of [
        [archived, "403 Forbidden - The project is archived"],
        [ending, "403 Forbidden - The project is marked for deletion"],
      ] as const) {
        const reply = await refs(path, "git-receive-pack", basic(owner.token));
        assert.deepEqual([reply.status, reply.text], [403, reason]);
        assert.equal((await refs(path, "git-upload-pack", basic(owner.token))).status, 200);
      }
    });

    test("requests above the rate limit, counted apart from those of the API", async () => {
      const env = { FAIRLEAD_RATE_LIMITS: "on", FAIRLEAD_RATE_LIMIT_ADDRESS: "3", FAIRLEAD_RATE_LIMIT_USER: "3" };
      const strict = await testApp({ env });
      holdMinute(strict);
      try {
        const ask = (options: object) =>
          strict.call("GET", `http://localhost/a/b.git/info/refs?service=git-upload-pack`, options);
        const { token } = await strict.makeUser();
        for (const [options, first, name] of [
          [{ remoteAddress: "203.0.113.31" }, 401, "throttle_unauthenticated_git"],
          [{ token }, 404, "throttle_authenticated_git"],
        ] as const) {
          const answers = [];
          for (let n = 0; n < 4; n++) answers.push(await ask(options));
          assert.deepEqual(
            answers.map(({ status }) => status),
            [first, first, first, 429],
          );
          assert.equal(answers[0]?.headers["ratelimit-name"], name);
          assert.match(answers[3]?.headers["retry-after"] ?? "", /^\d+$/);
        }
        assert.equal((await strict.get("/user", { token })).status, 200);
      } finally {
        await strict.close();
      }
    });
  });

  describe("admits", () => {
    const ROLES = ["anonymous", "stranger", "guest", "reporter", "developer", "administrator"] as const;
    /** 2: read and push, 1: read, otherwise the status of the refusal. */
    const EXPECTED: Record<Visibility, readonly (2 | 1 | 401 | 403 | 404)[]> = {
      private: [401, 404, 403, 1, 2, 2],
      internal: [401, 1, 1, 1, 2, 2],
      public: [1, 1, 1, 1, 2, 2],
    };
    for (const visibility of ["private", "internal", "public"] as const) {
      test(`by role, to a ${visibility} project`, async () => {
        const project = await makeCode(visibility);
        const administrator = await app.makeUser({ admin: true });
        for (const [at, role] of ROLES.entries()) {
          const token = {
            anonymous: undefined,
            stranger: stranger.token,
            guest: (await makeMember(project, LEVELS.guest)).token,
            reporter: (await makeMember(project, LEVELS.reporter)).token,
            developer: (await makeMember(project, LEVELS.developer)).token,
            administrator: administrator.token,
          }[role];
          const headers = token === undefined ? {} : basic(token);
          const expected = EXPECTED[visibility][at] ?? 0;
          const read = (await refs(project.path, "git-upload-pack", headers)).status;
          const push = (await refs(project.path, "git-receive-pack", headers)).status;
          const refused = token === undefined ? 401 : 403;
          const wanted = expected === 2 ? [200, 200] : expected === 1 ? [200, refused] : [expected, expected];
          assert.deepEqual([read, push], wanted, `${role}, ${visibility}`);
          const fetched = await post(project.path, "git-upload-pack", FLUSH, headers);
          const pushed = await post(project.path, "git-receive-pack", FLUSH, headers);
          assert.deepEqual([fetched.status, pushed.status], wanted, `${role}, ${visibility}`);
        }
      });
    }

    test("only members if code is private, and nobody if it is disabled", async () => {
      const { id, path } = await makeCode("public");
      const set = (repository_access_level: string) =>
        app.put(`/projects/${id}`, { token: owner.token, payload: { repository_access_level } });
      assert.equal((await set("private")).status, 200);
      assert.equal((await refs(path, "git-upload-pack")).status, 401);
      assert.equal((await refs(path, "git-upload-pack", basic(stranger.token))).status, 403);
      assert.equal((await refs(path, "git-upload-pack", basic(owner.token))).status, 200);
      assert.equal((await set("disabled")).status, 200);
      assert.equal((await refs(path, "git-upload-pack", basic(owner.token))).status, 403);
    });

    test("by scope", async () => {
      const { path } = await makeCode("public");
      for (const scope of SCOPES) {
        const { token } = await app.makeToken(owner.id, { scopes: [scope] });
        const read = scope === "api" || scope === "read_repository" || scope === "write_repository" ? 200 : 403;
        const push = scope === "api" || scope === "write_repository" ? 200 : 403;
        const headers = basic(token);
        const statuses = [
          await refs(path, "git-upload-pack", headers),
          await post(path, "git-upload-pack", FLUSH, headers),
          await refs(path, "git-receive-pack", headers),
          await post(path, "git-receive-pack", FLUSH, headers),
        ].map(({ status }) => status);
        assert.deepEqual(statuses, [read, read, push, push], scope);
      }
    });

    test("a token in every supported header; Basic is for git alone", async () => {
      const { path } = await makeCode("private");
      const { token } = owner;
      for (const headers of [basic(token), { "private-token": token }, { authorization: `Bearer ${token}` }]) {
        assert.equal((await refs(path, "git-upload-pack", headers)).status, 200);
      }
      for (const user of ["", "oauth2", "a:b"]) {
        const pair = Buffer.from(`${user.replace(":", "")}:${token}`).toString("base64");
        assert.equal((await refs(path, "git-upload-pack", { authorization: `basic ${pair}` })).status, 200);
      }
      assert.equal((await send(port, "GET", "/api/v4/user", { headers: basic(token) })).status, 401);
    });
  });

  describe("stops git when the client disconnects", () => {
    let path: string;
    let id: string;
    before(async () => {
      const code = await makeCode();
      path = code.path;
      for (let n = 0; n < 3; n++) id = await commitFile(code.copy, `cargo-${n}`, randomBytes(4_000_000));
      await gitOutput(["push", "--quiet", address(path, owner.token), "main"], { cwd: code.copy });
    });

    function begin(path: string, service: string, headers: Record<string, string> = {}): ClientRequest {
      const sent = request({
        port,
        method: "POST",
        path: `/${path}.git/${service}`,
        agent: false,
        headers: { ...basic(owner.token), "content-type": `application/x-${service}-request`, ...headers },
      });
      sent.on("error", () => {});
      return sent;
    }

    test("during a fetch", async () => {
      const sent = begin(path, "git-upload-pack");
      sent.end(wanting(id));
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      await once(answer, "data");
      answer.pause();
      // The push before may still be looked at by another git.
      await until("git waits", async () => gitChildren().length === 1);
      sent.destroy();
      await until("git ended", async () => gitChildren().length === 0);
    });

    test("during a push", async () => {
      const sent = begin(path, "git-receive-pack");
      const made = "1".repeat(40);
      sent.write(`${packet(`${"0".repeat(40)} ${made} refs/heads/x\0 report-status`)}${FLUSH}PACK\0\0\0\x02\0\0\0\x05`);
      await until("git begun", async () => gitChildren().length > 0);
      sent.destroy();
      await until("git ended", async () => gitChildren().length === 0);
    });

    test("and starts none before a request is complete", async () => {
      const sent = begin(path, "git-upload-pack", { "content-length": "1000" });
      sent.write(packet(`want ${"1".repeat(40)}\n`));
      await new Promise((resolve) => setTimeout(resolve, 300));
      assert.equal(gitChildren().length, 0);
      sent.destroy();
    });
  });

  test("a refused push is not read to its end", async () => {
    const { path } = await makeCode("public");
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(
      `POST /${path}.git/git-receive-pack HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n` +
        `content-type: application/x-git-receive-pack-request\r\n\r\n10000\r\n${"x".repeat(65536)}\r\n`,
    );
    let received = "";
    socket.setEncoding("latin1").on("data", (text: string) => (received += text));
    await once(socket, "close");
    assert.match(received, /^HTTP\/1\.1 401 /);
    assert.match(received, /connection: close/i);
  });
});
