import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

describe("search of users", () => {
  const tag = randomUUID().slice(0, 8);
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
    user = await app.makeUser();
    const ada = await app.makeUser({
      username: `lovelace-${tag}`,
      name: `Ada Mary ${tag}`,
      email: `private-${tag}@example.com`,
      public_email: `Public-${tag}@example.com`,
    });
    await app.makeUser({ username: `jo-${tag}`, name: `Jo${tag.slice(0, 2)}` });
    await app.makeUser({ username: `percent-${tag}`, name: `50%_of ${tag}` });
    await app.services.db.write
      .insertInto("emails")
      .values([
        { user_id: ada.id, email: `second-${tag}@example.com`, confirmed_at: new Date().toISOString() },
        { user_id: ada.id, email: `waiting-${tag}@example.com` },
      ])
      .execute();
  });
  after(() => app.close());

  async function found(search: string, token = user.token): Promise<string[]> {
    const { status, body } = await app.get(`/users?search=${encodeURIComponent(search)}`, { token });
    assert.equal(status, 200);
    return body.map(({ username }: { username: string }) => username);
  }
  const ADA = [`lovelace-${tag}`];

  test("part of a name or of a username, in any case", async () => {
    for (const search of [`ovelace-${tag}`, `LOVELACE-${tag}`, `mary ${tag}`, `Ada Mary ${tag}`]) {
      assert.deepEqual(await found(search), ADA, search);
    }
    assert.equal((await found(tag)).length, 3);
  });

  test("words match in any order, and each must match", async () => {
    assert.deepEqual(await found(`${tag} mary`), ADA);
    assert.deepEqual(await found(`mary  ada ${tag}`), ADA);
    assert.deepEqual(await found(`mary grace ${tag}`), []);
    assert.deepEqual(await found(`"${tag} lovelace"`), [], "a phrase is of the name or of the username");
  });

  test("a quoted phrase matches as a whole", async () => {
    assert.deepEqual(await found(`"Ada Mary" ${tag}`), ADA);
    assert.deepEqual(await found(`"Mary Ada" ${tag}`), []);
  });

  test("words of fewer than three letters are ignored beside longer ones; alone they must be the whole name", async () => {
    assert.deepEqual(await found(`zz mary ${tag}`), ADA);
    assert.deepEqual(await found(`Jo`), []);
    const short = await app.makeUser({ username: `q${tag.slice(0, 1)}`, name: "Wu" });
    assert.deepEqual(await found(`Q${tag.slice(0, 1)}`), [short.username]);
    assert.ok((await found("wu")).includes(short.username));
  });

  test("a leading @ is ignored", async () => {
    assert.deepEqual(await found(`@lovelace-${tag}`), ADA);
  });

  test("characters of patterns match only themselves", async () => {
    assert.deepEqual(await found(`50%_of ${tag}`), [`percent-${tag}`]);
    assert.deepEqual(await found(`50__of ${tag}`), []);
    assert.deepEqual(await found(`%%% ${tag}`), []);
  });

  test("only a whole public email address matches", async () => {
    assert.deepEqual(await found(`public-${tag}@example.com`), ADA);
    assert.deepEqual(await found(`PUBLIC-${tag}@EXAMPLE.COM`), ADA);
    assert.deepEqual(await found(`public-${tag}@example.co`), []);
    assert.deepEqual(await found(`public-${tag}`), []);
    for (const email of ["private", "second", "waiting"]) {
      assert.deepEqual(await found(`${email}-${tag}@example.com`), [], email);
    }
  });

  test("administrators also match private addresses and confirmed secondary ones", async () => {
    assert.deepEqual(await found(`private-${tag}@example.com`, admin.token), ADA);
    assert.deepEqual(await found(`SECOND-${tag}@example.com`, admin.token), ADA);
    assert.deepEqual(await found(`waiting-${tag}@example.com`, admin.token), []);
    assert.deepEqual(await found(`private-${tag}@example`, admin.token), []);
  });

  test("an administrator with sudo searches as that user", async () => {
    const { token } = await app.makeToken(admin.id, { scopes: ["api", "sudo"] });
    const { body } = await app.get(`/users?search=private-${tag}@example.com&sudo=${user.id}`, { token });
    assert.deepEqual(body, []);
  });

  test("exact matches come first, then by name, unless order_by is sent", async () => {
    const word = `rope${tag}`;
    for (const [username, name] of [
      [`b-${word}`, `B ${word} end`],
      [`a-${word}`, `A ${word} end`],
      [`x-${tag}-1`, word],
      [word, `Zed ${tag}`],
    ] as const) {
      await app.makeUser({ username, name });
    }
    assert.deepEqual(await found(word), [word, `x-${tag}-1`, `a-${word}`, `b-${word}`]);
    const { body } = await app.get(`/users?search=${word}&order_by=username&sort=desc`, { token: user.token });
    assert.deepEqual(
      body.map(({ username }: { username: string }) => username),
      [`x-${tag}-1`, word, `b-${word}`, `a-${word}`],
    );
  });

  test("a blank search is ignored", async () => {
    for (const search of ["", "   ", "@", '""']) {
      const { status } = await app.get(`/users?search=${encodeURIComponent(search)}`, { token: user.token });
      assert.equal(status, 200, search);
    }
    assert.ok((await found("  ")).length > 0);
  });
});
