import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

const LETTERS =
  "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'.";
const ENDS =
  "can only include non-accented letters, digits, '_', '-' and '.'. It must not start with '-', '_', or '.', " +
  "nor end with '-', '_', '.', '.git', or '.atom'.";
const WEAK = "must not contain commonly used combinations of words and letters";

describe("validation of users", () => {
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
    user = await app.makeUser();
  });
  after(() => app.close());

  /** The problems for which a change is refused, or undefined. */
  async function problems(change: object) {
    const { status, body } = await app.put(`/users/${user.id}`, { token: admin.token, payload: change });
    if (status === 200) return undefined;
    assert.equal(status, 400, JSON.stringify(change));
    return body.message ?? body.error;
  }
  const creation = async (change: object) => {
    const username = `v${randomUUID().slice(0, 8)}`;
    const payload = { username, name: "n", email: `${username}@example.com`, force_random_password: true, ...change };
    const { status, body } = await app.post("/users", { token: admin.token, payload });
    return status === 201 ? undefined : body.message;
  };

  test("username: letters and digits, separated by single punctuation", async () => {
    const tag = randomUUID().slice(0, 6);
    for (const good of [`a${tag}`, `A.b-c_d${tag}`, `1${tag}`])
      assert.equal(await creation({ username: good }), undefined);
    for (const [bad, texts] of [
      ["test!", [LETTERS, ENDS]],
      ["ümlaut", [LETTERS, ENDS]],
      ["with space", [LETTERS, ENDS]],
      ["-dash", [LETTERS, ENDS]],
      ["dot.", [LETTERS, ENDS]],
      ["repo.git", [LETTERS, ENDS]],
      ["feed.ATOM", [LETTERS, ENDS]],
      ["_under", [ENDS]],
      ["double--dash", [ENDS]],
      ["end-", [ENDS]],
      ["x", ["is too short (minimum is 2 characters)"]],
      ["x".repeat(256), ["is too long (maximum is 255 characters)"]],
      ["admin", ["admin is a reserved name"]],
      ["API", ["API is a reserved name"]],
      ["logo.png", ["ending with a reserved file extension is not allowed."]],
    ] as const) {
      assert.deepEqual(await creation({ username: bad }), { username: texts }, bad);
    }
  });

  test("name: 1 to 255 characters", async () => {
    assert.equal(await problems({ name: "😀".repeat(255) }), undefined);
    assert.deepEqual(await problems({ name: "n".repeat(256) }), { name: ["is too long (maximum is 255 characters)"] });
    assert.equal(await problems({ name: "  " }), "name is empty");
    assert.deepEqual(await creation({ name: "<script>" }), undefined);
  });

  test("email: a valid address", async () => {
    for (const good of ["a+b@example.com", "o'neil@sub.example.co.uk", "x@localhost", "ü@exämple.de"]) {
      assert.equal(await creation({ email: good.replace("@", `${randomUUID().slice(0, 6)}@`) }), undefined, good);
    }
    for (const bad of [
      "x",
      "@example.com",
      "a@",
      "a b@example.com",
      "a@b@c",
      "a@-x.com",
      "a@x..com",
      "<a@b.c>",
      `${"a".repeat(65)}@x.de`,
    ]) {
      assert.deepEqual(await creation({ email: bad }), { email: ["is invalid"] }, bad);
    }
  });

  test("password: 8 to 128 characters, and nothing that is easy to guess", async () => {
    for (const [password, texts] of [
      ["Ab3$xyz", ["is too short (minimum is 8 characters)"]],
      [`Zk${"q7".repeat(64)}`, ["is too long (maximum is 128 characters)"]],
      ["MyPassword-99", [WEAK]],
      ["xx12345678xx", [WEAK]],
      [`${user.username}-7-x`, [WEAK]],
    ] as const) {
      assert.deepEqual(await problems({ password }), { password: texts }, password);
    }
    assert.deepEqual(
      await creation({ force_random_password: false, password: "Sailor-is-my-name-9", name: "Some Sailor" }),
      {
        password: [WEAK],
      },
    );
  });

  test("texts: at most 255 characters in bio, 500 in others", async () => {
    assert.deepEqual(await problems({ bio: "b".repeat(256) }), { bio: ["is too long (maximum is 255 characters)"] });
    assert.equal(await problems({ bio: "b".repeat(255), organization: "o".repeat(500) }), undefined);
    for (const [field, title] of [
      ["organization", "Organization"],
      ["location", "Location"],
      ["linkedin", "Linkedin"],
      ["twitter", "Twitter"],
      ["github", "Github"],
    ] as const) {
      assert.deepEqual(await problems({ [field]: "o".repeat(501) }), {
        "user_detail.base": [`${title} is too long (maximum is 500 characters)`],
      });
    }
    assert.equal(
      await problems({ organization: "o".repeat(2000) }),
      "organization is too long (maximum is 1024 characters)",
    );
  });

  test("HTML tags are removed from organization and location", async () => {
    const { body } = await app.put(`/users/${user.id}`, {
      token: admin.token,
      payload: { organization: "A <b>bold</b> <script>alert(1)</script>harbour", location: "<i>Quay</i>" },
    });
    assert.equal(body.organization, "A bold alert(1)harbour");
    assert.equal(body.location, "Quay");
  });

  test("projects_limit: 0 to 2147483647", async () => {
    assert.equal(await problems({ projects_limit: 0 }), undefined);
    assert.equal(await problems({ projects_limit: 2_147_483_647 }), undefined);
    assert.deepEqual(await problems({ projects_limit: -1 }), {
      projects_limit: ["must be greater than or equal to 0"],
    });
    assert.equal(await problems({ projects_limit: 2_147_483_648 }), "projects_limit does not have a valid value");
  });

  test("theme_id and color_scheme_id: only known values", async () => {
    assert.equal(await problems({ theme_id: 5, color_scheme_id: 5 }), undefined);
    assert.deepEqual(await problems({ theme_id: 50 }), { theme_id: ["50 is not a valid theme"] });
    assert.deepEqual(await problems({ color_scheme_id: 50 }), { color_scheme_id: ["50 is not a valid color scheme"] });
    assert.deepEqual(await problems({ theme_id: 0 }), { theme_id: ["0 is not a valid theme"] });
    assert.deepEqual(await problems({ theme_id: 99_999_999_999 }), { theme_id: ["99999999999 is not a valid theme"] });
  });

  test("website_url: a URL of http or https; discord: a user id", async () => {
    for (const good of ["https://example.com/~me", "example.com", ""]) {
      assert.equal(await problems({ website_url: good }), undefined, good);
    }
    for (const bad of ["javascript:alert(1)", "ftp://example.com", "http://", "not a url at all"]) {
      assert.deepEqual(await problems({ website_url: bad }), { website_url: ["is not a valid URL"] }, bad);
    }
    assert.equal(await problems({ discord: "123456789012345678" }), undefined);
    assert.deepEqual(await problems({ discord: "somebody#1234" }), {
      discord: ["must contain only a discord user ID."],
    });
  });

  test("several problems are reported together, by field", async () => {
    const told = await problems({ bio: "b".repeat(256), theme_id: 50, projects_limit: -1 });
    assert.deepEqual(Object.keys(told).toSorted(), ["bio", "projects_limit", "theme_id"]);
  });
});
