import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { softwareKey, softwareToken } from "#test/support/ssh.ts";
import { until } from "#test/support/until.ts";
import { type SshApp, sshApp } from "./test-support.ts";

describe("authentication over SSH", () => {
  let app: SshApp;
  before(async () => (app = await sshApp()));
  after(() => app.close());

  const greet = (options: readonly string[], user?: string) =>
    app.tools.ssh(["-T", ...options], app.port, [], "", user);
  const assertRefused = ({ code, stderr, stdout }: Awaited<ReturnType<typeof greet>>) => {
    assert.equal(code, 255, stderr);
    assert.match(stderr, /Permission denied \(publickey\)/);
    assert.equal(stdout, "");
  };

  for (const [kind, bits] of [
    ["rsa", 2048],
    ["rsa", 3072],
    ["ecdsa", 256],
    ["ecdsa", 384],
    ["ecdsa", 521],
    ["ed25519", undefined],
  ] as const) {
    it(`admits a user by a key of type ${kind} ${bits ?? ""}`, async () => {
      const user = await app.makeUser();
      const key = await app.tools.makeKey(kind, bits);
      assertRefused(await greet(app.tools.withKey(key)));
      await app.addKey(key.line, { user_id: user.id });
      const { code, stderr } = await greet(app.tools.withKey(key));
      assert.equal(code, 0, stderr);
      assert.match(stderr, new RegExp(`^Hello @${user.username}, `));
    });
  }

  for (const kind of ["ed25519", "ecdsa"] as const) {
    it(`admits a user by a touched security token with a key of type ${kind}`, async () => {
      const user = await app.makeUser();
      const token = softwareToken(kind);
      await app.addKey(token.line, { user_id: user.id });
      const { code, stderr } = await greet(app.tools.withAgent(await app.tools.agent([token])));
      assert.equal(code, 0, stderr);
      assert.match(stderr, new RegExp(`^Hello @${user.username}, `));

      const untouched = softwareToken(kind, { touched: false });
      await app.addKey(untouched.line, { user_id: user.id });
      assertRefused(await greet(app.tools.withAgent(await app.tools.agent([untouched]))));

      const forged = { ...token, sign: (data: Buffer) => untouched.sign(data) };
      assertRefused(await greet(app.tools.withAgent(await app.tools.agent([forged]))));
    });
  }

  it("accepts RSA signatures with SHA-2 only", async () => {
    const user = await app.makeUser();
    const key = await app.tools.makeKey("rsa", 2048);
    await app.addKey(key.line, { user_id: user.id });
    const signedWith = (algorithm: string) =>
      greet([...app.tools.withKey(key), `-oPubkeyAcceptedAlgorithms=${algorithm}`]);
    assertRefused(await signedWith("ssh-rsa"));
    assert.equal((await signedWith("rsa-sha2-256")).code, 0);
    const { code, stderr } = await greet(["-oLogLevel=DEBUG1", ...app.tools.withKey(key)]);
    assert.equal(code, 0);
    assert.match(stderr, /server-sig-algs=.*rsa-sha2-256/);
  });

  it("identifies the holder of a proven key, not of one that was only offered", async () => {
    const victim = await app.makeUser();
    const attacker = await app.makeUser();
    const theirs = softwareKey();
    const own = softwareKey();
    await app.addKey(theirs.line, { user_id: victim.id });
    await app.addKey(own.line, { user_id: attacker.id });
    // The client offers the first key, which is acceptable, cannot sign with it, and goes on to its own.
    const offered = await app.tools.agent([{ ...theirs, sign: () => undefined }, own]);
    const { code, stderr } = await greet(["-oLogLevel=DEBUG1", ...app.tools.withAgent(offered)]);
    assert.equal(stderr.match(/Server accepts key: /g)?.length, 2, stderr);
    assert.equal(code, 0, stderr);
    assert.match(stderr, new RegExp(`Hello @${attacker.username}, `));
    assert.doesNotMatch(stderr, new RegExp(victim.username));

    const forged = await app.tools.agent([{ ...theirs, sign: (data: Buffer) => own.sign(data) }]);
    assertRefused(await greet(app.tools.withAgent(forged)));
  });

  it("refuses keys that expired, are for signing, or whose user may not act", async () => {
    const user = await app.makeKeyedUser();
    assert.equal((await greet(user.options)).code, 0);
    await app.expireKey(user.keyId);
    assertRefused(await greet(user.options));

    const signing = await app.tools.makeKey("ed25519");
    await app.addKey(signing.line, { user_id: user.id, usage_type: "signing" });
    assertRefused(await greet(app.tools.withKey(signing)));
    const auth = await app.tools.makeKey("ed25519");
    await app.addKey(auth.line, { user_id: user.id, usage_type: "auth" });
    assert.equal((await greet(app.tools.withKey(auth))).code, 0);

    const blocked = await app.makeKeyedUser();
    await app.changeUser(blocked.id, { state: "blocked" });
    assertRefused(await greet(blocked.options));
    await app.changeUser(blocked.id, { state: "active" });
    assert.equal((await greet(blocked.options)).code, 0);
    assertRefused(await greet((await app.makeKeyedUser({ confirmed_at: null })).options));
  });

  it("refuses passwords, and ends the connection after six keys", async () => {
    const user = await app.makeKeyedUser();
    const noKey = ["-oLogLevel=DEBUG1", ...app.tools.withKey(user.key), "-oPubkeyAuthentication=no"];
    const { stderr } = await greet(noKey);
    assert.match(stderr, /Authentications that can continue: publickey\r?\n/);
    const strangers = Array.from({ length: 6 }, () => softwareKey());
    const mine = softwareKey();
    await app.addKey(mine.line, { user_id: user.id });
    const seventh = await greet(app.tools.withAgent(await app.tools.agent([...strangers, mine])));
    assert.equal(seventh.code, 255);
    const sixth = await greet(app.tools.withAgent(await app.tools.agent([...strangers.slice(1), mine])));
    assert.equal(sixth.code, 0, sixth.stderr);
  });

  it("accepts only the user name git, and says so to the holder of a key", async () => {
    const user = await app.makeKeyedUser();
    const { code, stderr } = await greet(user.options, user.username);
    assert.equal(code, 1);
    assert.match(stderr, /^ERROR: Sign in as git/);
  });

  it("greets a deploy key by its title, without control characters", async () => {
    const user = await app.makeUser();
    const key = await app.tools.makeKey("ed25519");
    await app.addKey(key.line, { user_id: user.id, kind: "deploy", title: "cr\u001b[31mane" });
    const { code, stderr } = await greet(app.tools.withKey(key));
    assert.equal(code, 0);
    assert.match(stderr, /^Hello, deploy key "cr \[31mane"/);
  });

  it("logs each refused sign-in once, with the kind of key and the reason", async () => {
    const refusals = async (options: readonly string[], user?: string) => {
      const before = app.logged.length;
      await greet(options, user);
      await until("the connection is closed", async () => app.connections() === 0);
      const lines = app.logged.slice(before).map((line) => JSON.parse(line) as Record<string, unknown>);
      return lines
        .filter(({ msg }) => msg === "sign-in refused")
        .map(({ level, kind, ip, reason, attempts }) => ({ level, kind, ip, reason, attempts }));
    };
    const line = { level: "warn", kind: "ssh_key", ip: "127.0.0.1", attempts: 1 };
    const stranger = softwareKey();
    const unknown = { ...line, reason: "This key is not known here" };
    assert.deepEqual(await refusals(app.tools.withAgent(await app.tools.agent([stranger]))), [unknown]);
    const user = await app.makeKeyedUser();
    assert.deepEqual(await refusals(user.options), []);
    const mine = softwareKey();
    await app.addKey(mine.line, { user_id: user.id });
    assert.deepEqual(await refusals(app.tools.withAgent(await app.tools.agent([stranger, mine]))), []);
    const forged = { ...mine, sign: (data: Buffer) => stranger.sign(data) };
    const signed = await refusals(app.tools.withAgent(await app.tools.agent([forged])));
    assert.deepEqual(signed, [{ ...line, reason: "wrong signature" }]);
    const named = await refusals(user.options, user.username);
    assert.deepEqual(named, [{ ...line, reason: "the user name is not git", attempts: undefined }]);

    const project = await app.makeProject(user);
    const deploy = await app.makeDeployKey(user, project.id, false);
    await app.expireKey(deploy.keyId);
    const expired = { ...line, kind: "deploy_key", reason: "This key has expired" };
    assert.deepEqual(await refusals(deploy.options), [expired]);
    const { text } = await app.get("/-/metrics");
    assert.match(text, /^fairlead_sign_ins_refused_total\{kind="deploy_key"\} 1$/m);
  });

  it("logs a session that fails as a warning with its reason", async () => {
    const user = await app.makeKeyedUser();
    const { code } = await app.tools.ssh(user.options, app.port, ["git-upload-pack 'no/such'"]);
    assert.equal(code, 1);
    const lines = app.logged.map((line) => JSON.parse(line) as Record<string, unknown>);
    const { level, reason } = lines.find(({ key_id }) => key_id === user.keyId) ?? {};
    assert.deepEqual([level, reason], ["warn", "There is no repository at this address, or you may not see it."]);
  });

  it("records the use of a key, and logs no key", async () => {
    const user = await app.makeKeyedUser();
    await greet(user.options);
    const row = await app.services.db.write
      .selectFrom("keys")
      .select("last_used_at")
      .where("id", "=", user.keyId)
      .executeTakeFirstOrThrow();
    assert.ok(row.last_used_at !== null);
    const lines = app.logged.join("");
    assert.doesNotMatch(lines, /AAAA[A-Za-z0-9+/]{20}|SHA256:/);
    const session = app.logged.map((line) => JSON.parse(line)).find((line) => line.key_id === user.keyId);
    assert.deepEqual(
      { ...session, ms: typeof session.ms, request_id: typeof session.request_id, time: 0 },
      {
        level: "info",
        time: 0,
        operation: "git.greeting",
        ip: "127.0.0.1",
        key_id: user.keyId,
        user_id: user.id,
        exit: 0,
        ms: "number",
        request_id: "string",
      },
    );
  });
});
