import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { after, afterEach, before, describe, test } from "node:test";
import { type Config, readConfig } from "#config.ts";
import { Refusal } from "#lib/refusal.ts";
import { answer, type SmtpServer, startSmtp } from "#test/support/smtp.ts";
import type { Letter } from "./letter.ts";
import { type Mailer, openMailer } from "./transport.ts";

const letter: Letter = {
  id: "0b1c",
  to: "ada@example.com",
  subject: "Subject",
  paragraphs: ["First.", { label: "Go", link: "https://fairlead.example/-/x?token=abc&a=1" }, "Last."],
};

const noLog = { info: () => {} };
const open: Mailer[] = [];
const mailer = (url: string, env: Record<string, string> = {}, log: { info: (...given: any[]) => void } = noLog) => {
  const config: Config = readConfig({ FAIRLEAD_SMTP_URL: url, ...env });
  const made = openMailer(config, log);
  open.push(made);
  return made;
};
const closeAll = () => {
  for (const each of open.splice(0)) each.close();
};

describe("mail by SMTP", () => {
  afterEach(closeAll);
  let smtp: SmtpServer;
  before(async () => {
    smtp = await startSmtp({
      onRcptTo({ address }, _session, done) {
        if (address.startsWith("nobody@")) done(answer(550, "No such user"));
        else if (address.startsWith("later@")) done(answer(451, "Try again"));
        else done();
      },
    });
  });
  after(() => smtp.close());

  test("arrives as text and HTML from the configured sender, marked as auto-generated", async () => {
    await mailer(smtp.url, { FAIRLEAD_MAIL_FROM: "Ship <mail@fairlead.example>" }).send(letter);
    const [mail, ...more] = await smtp.mailsTo("ada@example.com");
    assert.ok(mail);
    assert.deepEqual(more, []);
    assert.equal(mail.from, "mail@fairlead.example");
    assert.deepEqual(mail.to, ["ada@example.com"]);
    const headers = Object.fromEntries(mail.headers);
    assert.equal(headers["from"], "Ship <mail@fairlead.example>");
    assert.equal(headers["to"], "ada@example.com");
    assert.equal(headers["subject"], "Subject");
    assert.equal(headers["message-id"], "<0b1c@fairlead.example>");
    assert.equal(headers["auto-submitted"], "auto-generated");
    assert.equal(headers["x-mailer"], undefined);
    assert.equal(
      mail.text.trim(),
      "First.\n\nGo:\nhttps://fairlead.example/-/x?token=abc&a=1\n\nLast.".replaceAll("\n", "\r\n"),
    );
    assert.match(mail.html, /<p>First\.<\/p>/);
    assert.match(mail.html, /<a href="https:\/\/fairlead\.example\/-\/x\?token=abc&amp;a=1">/);
  });

  test("cannot be given headers, receivers or markup by a name or subject", async () => {
    const nasty = {
      ...letter,
      to: "eve@example.com",
      subject: "Hello\r\nBcc: mallory@example.com\r\n\r\nbody\u2028x",
      paragraphs: ["<img src=x onerror=alert(1)>\r\n.\r\nQUIT", { label: "<b>", link: `https://x/"><script>` }],
    };
    await mailer(smtp.url).send(nasty);
    const [mail] = await smtp.mailsTo("eve@example.com");
    assert.ok(mail);
    assert.equal(mail.headers.get("subject"), "Hello Bcc: mallory@example.com body x");
    assert.equal(mail.headers.get("bcc"), undefined);
    assert.deepEqual(mail.to, ["eve@example.com"]);
    assert.doesNotMatch(mail.html, /<(img|b|script)[ >]/);
    assert.match(mail.html, /&lt;img src=x onerror=alert\(1\)&gt; \. QUIT/);
    assert.doesNotMatch(mail.html, /src=["']?http|url\(/);
  });

  test("keeps the lines of a quote, in which nothing is markup", async () => {
    const quote = "One\r\n\r\n<b>two</b>\u0007\u001b[1m\n\tthree";
    await mailer(smtp.url).send({ ...letter, to: "quoted@example.com", paragraphs: [{ quote }] });
    const [mail] = await smtp.mailsTo("quoted@example.com");
    assert.equal(mail?.text.trim(), "One\n\n<b>two</b>[1m\n\tthree".replaceAll("\n", "\r\n"));
    assert.match(mail?.html ?? "", /&lt;b&gt;two&lt;\/b&gt;\[1m/);
  });

  test("names its thread, and the address that ends it; mail programs post to it over HTTPS only", async () => {
    for (const [scheme, post] of [
      ["https", "List-Unsubscribe=One-Click"],
      ["http", undefined],
    ] as const) {
      const unsubscribe = `${scheme}://fairlead.example/-/unsubscribe?token=${"x".repeat(100)}`;
      const to = `${scheme}@example.com`;
      await mailer(smtp.url, { FAIRLEAD_MAIL_FROM: "mail@fairlead.example" }).send({
        ...{ ...letter, to, unsubscribe, thread: "issue-7" },
      });
      const [mail] = await smtp.mailsTo(to);
      assert.equal(mail?.headers.get("list-unsubscribe"), `<${unsubscribe}>`);
      assert.equal(mail?.headers.get("list-unsubscribe-post"), post);
      assert.equal(mail?.headers.get("in-reply-to"), "<issue-7@fairlead.example>");
      assert.equal(mail?.headers.get("references"), "<issue-7@fairlead.example>");
    }
  });

  test("goes to exactly one address, whatever its form", async () => {
    const before = smtp.received.length;
    for (const to of [
      "a@example.com, b@example.com",
      "a@example.com>,<b@example.com",
      "a@example.com\r\nRCPT TO:<b@example.com>",
    ]) {
      await mailer(smtp.url)
        .send({ ...letter, to })
        .catch(() => {});
    }
    const strangers = smtp.received.slice(before).filter(({ to }) => to.includes("b@example.com") || to.length > 1);
    assert.deepEqual(strangers, []);
  });

  test("is refused permanently only if the server rejects the receiver", async () => {
    const sent = mailer(smtp.url);
    await assert.rejects(sent.send({ ...letter, to: "nobody@example.com" }), (error) => {
      assert.ok(error instanceof Refusal);
      assert.match(error.message, /550 No such user/);
      return true;
    });
    await assert.rejects(sent.send({ ...letter, to: "later@example.com" }), (error) => !(error instanceof Refusal));
    await sent.send({ ...letter, to: "after@example.com" });
    await smtp.mailsTo("after@example.com");
  });

  test("fails temporarily while there is no server", async () => {
    const gone = await startSmtp();
    const sent = mailer(gone.url);
    await sent.send(letter);
    await gone.close();
    await assert.rejects(sent.send(letter), (error) => !(error instanceof Refusal));
    const back = await startSmtp({}, gone.port);
    try {
      await sent.send({ ...letter, to: "back@example.com" });
      await back.mailsTo("back@example.com");
    } finally {
      await back.close();
    }
  });

  test("fails temporarily if the connection breaks before the mail is accepted", async () => {
    const rude = createServer((socket) => {
      socket.write("220 rude\r\n");
      socket.on("data", (data) => {
        if (/^DATA/m.test(data.toString())) socket.destroy();
        else socket.write("250 ok\r\n".repeat(data.toString().split("\r\n").length - 1));
      });
      socket.on("error", () => {});
    }).listen(0, "127.0.0.1");
    await once(rude, "listening");
    try {
      const { port } = rude.address() as AddressInfo;
      await assert.rejects(mailer(`smtp://127.0.0.1:${port}`).send(letter), (error) => !(error instanceof Refusal));
    } finally {
      rude.close();
    }
  });

  test("requires TLS for a password, unless the URL disables that", async () => {
    const users: string[] = [];
    const options = {
      onAuth({ username = "" }, _session, done) {
        users.push(username);
        done(null, { user: username });
      },
      allowInsecureAuth: true,
    } satisfies Parameters<typeof startSmtp>[0];
    const plain = await startSmtp({ ...options, disabledCommands: ["STARTTLS"] });
    const secured = await startSmtp({ ...options, disabledCommands: [], logger: false });
    try {
      const at = ({ port }: SmtpServer, query: string) => `smtp://ada:secret@127.0.0.1:${port}${query}`;
      await assert.rejects(mailer(at(plain, "")).send(letter), (error) => !(error instanceof Refusal));
      assert.deepEqual(users, []);
      await mailer(at(plain, "?requireTLS=false")).send(letter);
      assert.deepEqual(users, ["ada"]);
      // Its certificate is self-signed.
      await assert.rejects(mailer(at(secured, "")).send(letter));
      await mailer(at(secured, "?tls.rejectUnauthorized=false")).send(letter);
      assert.deepEqual(users, ["ada", "ada"]);
    } finally {
      await Promise.all([plain.close(), secured.close()]);
    }
  });
});

describe("mail without a server", () => {
  test("is logged with the setting to change, and without its text", async () => {
    const lines: unknown[][] = [];
    await mailer("", {}, { info: (...line) => lines.push(line) }).send(letter);
    assert.deepEqual(lines, [
      [
        { mail_id: "0b1c", to: "ada@example.com", subject: "Subject" },
        "mail was not sent: no SMTP server is set; FAIRLEAD_SMTP_URL says which one to use",
      ],
    ]);
  });
});
