import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Kind, Refusal } from "#lib/refusal.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { type Access, anyone, signedIn } from "./access.ts";
import { authenticate, type Credentials, tokenDigest } from "./authenticate.ts";
import { actorOf, ANONYMOUS } from "./principal.ts";
import type { Scope } from "./scopes.ts";
import { csrfTokenOf, newSessionSecret, type SessionCredentials } from "./sessions.ts";

const ORIGIN = { address: "127.0.0.1", requestId: "test", agent: "test" };

/** The order and the reasons of refusals; test/conventions tests how each is answered. */
describe("authenticate", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp();
  });
  after(() => app.close());

  const as = (
    token: string | readonly string[] | undefined,
    sudo?: unknown,
    access: Access<object> = signedIn(),
    reads = true,
  ) => {
    const tokens = token === undefined ? [] : [token].flat();
    return authenticate(
      app.services.db,
      { tokens, session: undefined, foreign: false, sudo, origin: ORIGIN },
      access,
      reads,
    );
  };

  const refused = (work: Promise<unknown>, kind: Kind, message: string | RegExp) =>
    assert.rejects(work, (error: unknown) => {
      assert.ok(error instanceof Refusal);
      assert.equal(error.kind, kind);
      if (typeof message === "string") assert.equal(error.message, message);
      else assert.match(error.message, message);
      return true;
    });

  const EXPIRED = "Token is expired. You can either do re-authorization or token refresh.";
  const REVOKED = "Token was revoked. You have to re-authorize from the user.";
  const LACKS_SCOPE = "The request requires higher privileges than provided by the access token.";

  test("without a token the caller is anonymous, and sudo is refused", async () => {
    assert.deepEqual(await as(undefined), { principal: ANONYMOUS, row: undefined, used: undefined });
    await refused(as(undefined, "root"), "unauthenticated", "401 Unauthorized");
  });

  test("a token authenticates its user with its scopes", async () => {
    const user = await app.makeUser({}, ["read_user", "api"]);
    const { principal, row, used } = await as(user.token);
    const actor = actorOf(principal);
    assert.equal(actor?.user.id, user.id);
    assert.deepEqual(actor.kind === "user by token" && actor.token, {
      id: user.tokenId,
      scopes: ["read_user", "api"],
      impersonation: false,
    });
    assert.equal(row?.token_id, user.tokenId);
    assert.equal(used, row);
  });

  test("the same token twice is accepted, two different ones are refused", async () => {
    const [one, other] = [await app.makeUser(), await app.makeUser()];
    assert.equal(actorOf((await as([one.token, one.token])).principal)?.user.id, one.id);
    const message = "401 Unauthorized - The request has two different tokens; send one";
    await refused(as([one.token, other.token]), "unauthenticated", message);
    await refused(as([one.token, one.token, "flpat-unknown"]), "unauthenticated", message);
  });

  test("refuses in the order unknown, expired, revoked, account, scope, sudo", async () => {
    const blocked = await app.makeUser({ state: "blocked" });
    const expired = { expires_at: "2001-01-01" };
    const revoked = { revoked_at: "2001-01-01" };
    const scopes: Scope[] = ["k8s_proxy"];
    const token = async (columns: object, owner: TestUser = blocked) =>
      (await app.makeToken(owner.id, { ...columns, scopes })).token;

    await refused(as("flpat-unknown", "root"), "unauthenticated", "401 Unauthorized");
    await refused(as(await token({ ...expired, ...revoked }), "root"), "unauthenticated", EXPIRED);
    await refused(as(await token(revoked), "root"), "unauthenticated", REVOKED);
    await refused(as(await token({}), "root"), "forbidden", "403 Forbidden - Your account has been blocked.");
    await refused(as(await token({}, await app.makeUser()), "root"), "forbidden", LACKS_SCOPE);
    await refused(as((await app.makeUser()).token, "root"), "forbidden", "403 Forbidden - Must be admin to use sudo");
  });

  test("says why an account may not act", async () => {
    for (const [columns, reason] of [
      [{ state: "blocked" }, "Your account has been blocked."],
      [{ state: "ldap_blocked" }, "Your account has been blocked."],
      [{ state: "banned" }, "Your account has been blocked."],
      [
        { state: "blocked_pending_approval" },
        "Your account is pending approval from your administrator and hence blocked.",
      ],
      [{ state: "deactivated" }, /Your account has been deactivated by your administrator\./],
      [{ confirmed_at: null }, /Your primary email address is not confirmed\./],
      [{ password_expired: true }, /Your password expired\./],
      [{ user_type: "ghost" }, "This action cannot be performed by internal users"],
      [{ user_type: "security_policy_bot" }, "This action cannot be performed by internal users"],
    ] as const) {
      const { token } = await app.makeUser(columns);
      await refused(as(token), "forbidden", typeof reason === "string" ? `403 Forbidden - ${reason}` : reason);
    }
    for (const user_type of ["human", "service_account", "project_bot", "service_user"] as const) {
      const { id, token } = await app.makeUser({ user_type });
      assert.equal(actorOf((await as(token)).principal)?.user.id, id, user_type);
    }
  });

  test("read_api is enough for reads only, and other scopes only if the rule names them", async () => {
    const { id } = await app.makeUser();
    const withScopes = async (...scopes: Scope[]) => (await app.makeToken(id, { scopes })).token;
    const userRule = signedIn({ scopes: ["read_user"] });
    await as(await withScopes("read_api"));
    await refused(as(await withScopes("read_api"), undefined, signedIn(), false), "forbidden", LACKS_SCOPE);
    await as(await withScopes("read_user"), undefined, userRule);
    await refused(as(await withScopes("read_user")), "forbidden", LACKS_SCOPE);
    await refused(as(await withScopes()), "forbidden", LACKS_SCOPE);
    await assert.rejects(as(await withScopes("sudo"), undefined, userRule), {
      details: { token: { error: "insufficient_scope", description: LACKS_SCOPE, scope: "read_user api read_api" } },
    });
  });

  test("onRevokedToken is called for a revoked token, not for an expired one", async () => {
    const { id } = await app.makeUser();
    const told: number[] = [];
    const rule: Access<object> = {
      ...signedIn(),
      onRevokedToken: async (_db, { token_id }) => {
        told.push(token_id);
      },
    };
    const revoked = await app.makeToken(id, { revoked_at: "2001-01-01" });
    const expired = await app.makeToken(id, { expires_at: "2001-01-01" });
    await refused(as(revoked.token, undefined, rule), "unauthenticated", REVOKED);
    await refused(as(expired.token, undefined, rule), "unauthenticated", EXPIRED);
    assert.deepEqual(told, [revoked.id]);
  });

  describe("sudo", () => {
    let admin: TestUser;
    let user: TestUser;
    before(async () => {
      admin = await app.makeUser({ admin: true }, ["api", "sudo"]);
      user = await app.makeUser();
    });

    test("the user acts with the administrator's token, and both are in the result", async () => {
      for (const target of [user.id, String(user.id), user.username, user.username.toUpperCase()]) {
        const { principal, row, used } = await as(admin.token, target);
        const actor = actorOf(principal);
        assert.equal(actor?.user.id, user.id);
        assert.equal(actor.user.admin, false);
        assert.equal(actor.sudoer?.id, admin.id);
        assert.equal(actor.kind === "user by token" && actor.token.id, admin.tokenId);
        assert.equal(row, undefined, "the row is the administrator's, so no rule may take it for the user's");
        assert.equal(used && "token_id" in used && used.token_id, admin.tokenId);
      }
    });

    test("needs the scope, even on a token with the scope api", async () => {
      const { token } = await app.makeToken(admin.id, { scopes: ["api"] });
      await assert.rejects(as(token, user.id), {
        details: { token: { error: "insufficient_scope", description: LACKS_SCOPE, scope: "sudo" } },
      });
    });

    test("needs an administrator, even with the scope", async () => {
      const { token } = await app.makeToken(user.id, { scopes: ["api", "sudo"] });
      await refused(as(token, user.id), "forbidden", "403 Forbidden - Must be admin to use sudo");
    });

    test("is refused to a former administrator", async () => {
      const former = await app.makeUser({ admin: true }, ["api", "sudo"]);
      await as(former.token, user.id);
      await app.services.db.write.updateTable("users").set({ admin: false }).where("id", "=", former.id).execute();
      await refused(as(former.token, user.id), "forbidden", "403 Forbidden - Must be admin to use sudo");
    });

    test("is refused for users who may not act, and for unknown ones", async () => {
      const blocked = await app.makeUser({ state: "blocked" });
      const bot = await app.makeUser({ user_type: "alert_bot" });
      await refused(as(admin.token, blocked.id), "forbidden", "403 Forbidden - Your account has been blocked.");
      await refused(
        as(admin.token, bot.username),
        "forbidden",
        "403 Forbidden - This action cannot be performed by internal users",
      );
      await refused(
        as(admin.token, "no-such-name"),
        "missing",
        "404 User with ID or username 'no-such-name' Not Found",
      );
      for (const odd of [["1"], { a: 1 }, null, true])
        await refused(as(admin.token, odd), "invalid", "sudo is invalid");
    });
  });

  describe("by a session", () => {
    /** A session of a user, as a page of ours sends it. */
    async function makeSession({ id }: TestUser): Promise<SessionCredentials> {
      const secret = newSessionSecret();
      await app.services.db.write
        .insertInto("sessions")
        .values({ user_id: id, digest: Buffer.from(tokenDigest(secret), "hex") })
        .execute();
      return { secret, csrfToken: csrfTokenOf(secret), sameOrigin: true };
    }
    const bySession = (
      session: SessionCredentials,
      {
        reads = true,
        access = signedIn(),
        ...more
      }: Partial<Credentials> & { reads?: boolean; access?: Access<object> } = {},
    ) =>
      authenticate(
        app.services.db,
        { tokens: [], session, foreign: false, sudo: undefined, origin: ORIGIN, ...more },
        access,
        reads,
      );

    test("authenticates its user, whatever scope the endpoint needs", async () => {
      const user = await app.makeUser();
      const session = await makeSession(user);
      for (const reads of [true, false]) {
        const { principal, row, used } = await bySession(session, { reads });
        assert.equal(principal.kind, "user by session");
        assert.equal(principal.user.id, user.id);
        assert.equal(row, undefined, "there is no token's row");
        assert.equal(used?.id, user.id);
      }
    });

    test("a cookie alone is anonymous for a read and refused for a write, valid or not", async () => {
      const known = await makeSession(await app.makeUser());
      const unknown = { ...known, secret: newSessionSecret() };
      for (const shown of [
        { ...known, csrfToken: undefined },
        { ...known, csrfToken: "wrong" },
        { ...known, sameOrigin: false },
        unknown,
      ]) {
        assert.equal((await bySession(shown)).principal, ANONYMOUS);
        await refused(bySession(shown, { reads: false }), "forbidden", /not made by a page of this site/);
        assert.equal(
          (await bySession(shown, { reads: false, access: anyone() })).principal,
          ANONYMOUS,
          "where anyone may write",
        );
        await refused(bySession(shown, { sudo: "root" }), "unauthenticated", "401 Unauthorized");
      }
    });

    test("refuses in the order unknown or ended, account, sudo", async () => {
      const secret = newSessionSecret();
      const unknown = { secret, csrfToken: csrfTokenOf(secret), sameOrigin: true };
      await refused(bySession(unknown, { sudo: "root" }), "unauthenticated", "401 Unauthorized");
      const blocked = await app.makeUser({ state: "blocked" });
      const session = await makeSession(blocked);
      await refused(
        bySession(session, { sudo: "root" }),
        "forbidden",
        "403 Forbidden - Your account has been blocked.",
      );
      await app.services.db.write
        .updateTable("sessions")
        .set({ ends_at: "2001-01-01" })
        .where("user_id", "=", blocked.id)
        .execute();
      await refused(bySession(session), "unauthenticated", "401 Unauthorized");
      const administrator = await makeSession(await app.makeUser({ admin: true }));
      await refused(bySession(administrator, { sudo: "root" }), "forbidden", /Only a token can be used with sudo/);
    });

    test("a token in the same request takes precedence", async () => {
      const user = await app.makeUser();
      const session = await makeSession(await app.makeUser());
      const { principal } = await bySession(session, { tokens: [user.token] });
      assert.equal(principal.kind, "user by token");
      assert.equal(principal.user.id, user.id);
      await refused(bySession(session, { tokens: ["flpat-unknown"] }), "unauthenticated", "401 Unauthorized");
    });

    test("is ignored for signing in, where another site is refused", async () => {
      const shown = { secret: "planted", csrfToken: undefined, sameOrigin: false };
      const ask = (foreign: boolean) =>
        authenticate(
          app.services.db,
          { tokens: [], session: shown, foreign, sudo: undefined, origin: ORIGIN },
          { ...signedIn(), signsIn: true },
          false,
        );
      assert.equal((await ask(false)).principal, ANONYMOUS);
      await refused(ask(true), "forbidden", /not made by a page of this site/);
    });
  });
});
