import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { TestUser } from "#test/support/app.ts";
import { type Received, secretIn } from "#test/support/smtp.ts";
import { type Newsroom, newsroom } from "./test-support.ts";

const PATH = "/-/unsubscribe";

describe("unsubscribing by a mail", () => {
  let news: Newsroom;
  before(async () => {
    news = await newsroom();
  });
  after(() => news.close());

  /** Assigns an issue and mentions in an epic, and returns the paths and the mails. */
  async function told(user: (place: Awaited<ReturnType<Newsroom["place"]>>) => Promise<TestUser>) {
    const place = await news.place();
    const anna = await user(place);
    const issue = await news.create(place.issues, { assignee_ids: [anna.id] });
    const [ofIssue] = await news.mails(anna);
    const epic = await news.create(place.epics, { description: `@${anna.username}` });
    const [ofEpic] = await news.mails(anna);
    return [
      { path: `${place.issues}/${issue.iid}`, mail: ofIssue!, anna },
      { path: `${place.epics}/${epic.iid}`, mail: ofEpic!, anna },
    ];
  }
  const form = { "content-type": "application/x-www-form-urlencoded" };
  /** What a mail program sends: the address of the header, and its own body. */
  const oneClick = ({ headers }: Received) => {
    const [, url = ""] = /^<(.+)>$/.exec(headers.get("list-unsubscribe") ?? "") ?? [];
    const { pathname, search } = new URL(url);
    return news.app.post(pathname + search, { payload: headers.get("list-unsubscribe-post") ?? "", headers: form });
  };

  test("takes one POST of the mail program, and no sign-in", async () => {
    for (const { path, mail, anna } of await told(({ member }) => member())) {
      assert.equal(mail.headers.get("list-unsubscribe-post"), "List-Unsubscribe=One-Click");
      const { status, headers } = await oneClick(mail);
      assert.deepEqual([status, headers["set-cookie"]], [200, undefined]);
      assert.equal((await news.app.get(path, { token: anna.token })).body.subscribed, false);
      await news.create(`${path}/notes`, { body: `@${anna.username}, are you there?` });
      assert.deepEqual(await news.mails(anna), []);
      assert.equal((await oneClick(mail)).status, 200);
      await news.app.post(`${path}/subscribe`, { token: anna.token });
      await news.create(`${path}/notes`, { body: "Again" });
      assert.equal((await news.mails(anna)).length, 1);
    }
  });

  test("shows a button and changes nothing when the link is opened", async () => {
    for (const { path, mail, anna } of await told(({ member }) => member())) {
      const token = secretIn(mail);
      const { status, text, headers } = await news.app.get(`${PATH}?token=${token}`);
      assert.equal(status, 200);
      assert.ok(text.includes('<form method="post" action="/-/unsubscribe">') && text.includes(token));
      assert.match(String(headers["content-security-policy"]), /form-action 'self'/);
      assert.equal((await news.app.get(`${PATH}?token=${token}`)).status, 200);
      await news.create(`${path}/subscribe`, {}, anna).catch(() => undefined);
      assert.equal((await news.app.get(path, { token: anna.token })).body.subscribed, true);
      const sent = await news.app.post(PATH, { payload: `token=${token}`, headers: form });
      assert.equal(sent.status, 200);
      assert.equal((await news.app.get(path, { token: anna.token })).body.subscribed, false);
    }
  });

  test("takes the link of the mail, and no other", async () => {
    const [{ path, mail, anna } = { path: "", mail: undefined, anna: undefined }] = await told(({ member }) =>
      member(),
    );
    const token = secretIn(mail!);
    const [, userId, itemId, code] = /^(\d+)-issue-(\d+)-(.+)$/.exec(token) ?? [];
    const last = code!.at(-1) === "A" ? "E" : "A";
    for (const forged of [
      `${Number(userId) + 1}-issue-${itemId}-${code}`,
      `${userId}-issue-${Number(itemId) + 1}-${code}`,
      `${userId}-epic-${itemId}-${code}`,
      `0${token}`,
      `${token.slice(0, -1)}${last}`,
      token.slice(0, -1),
      "",
    ]) {
      const replies = [
        await news.app.get(`${PATH}?token=${forged}`),
        await news.app.post(PATH, { payload: `token=${forged}`, headers: form }),
      ];
      assert.deepEqual(
        replies.map(({ status }) => status),
        [404, 404],
        forged,
      );
    }
    assert.equal((await news.app.get(path, { token: anna!.token })).body.subscribed, true);
  });

  test("of what is gone is done", async () => {
    const [{ path, mail } = { path: "", mail: undefined }] = await told(({ member }) => member());
    assert.equal((await news.app.delete(path, { token: news.owner.token })).status, 204);
    assert.equal((await oneClick(mail!)).status, 200);
  });
});
