import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Refusal } from "#lib/refusal.ts";
import { MULTIPART_LIMITS, readMultipart } from "./multipart.ts";
import { type RawSet, snakeCase, UploadedFile } from "./raw.ts";
import { FORM_HEADERS as headers, HOSTILE_UNITS, inChunks, readForm as read } from "./test-support.ts";

const field = (name: string, value: string | Buffer, more = "") =>
  Buffer.concat([
    Buffer.from(`--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`),
    Buffer.from(value),
    Buffer.from("\r\n"),
  ]);
const form = (...parts: (string | Buffer)[]) => Buffer.concat([...parts, "--b--\r\n"].map((part) => Buffer.from(part)));

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const refusal = async (reading: Promise<unknown>): Promise<string> => {
  const error = await reading.then(
    () => assert.fail("was accepted"),
    (problem: unknown) => problem,
  );
  assert.ok(error instanceof Refusal, String(error));
  return `${error.kind}: ${error.message}`;
};

describe("a form", () => {
  const avatar = Buffer.from([0x89, 0x50, 0, 0xff, 0x0d, 0x0a, 0x2d, 0x2d]);
  const body = form(
    field("name", "Zoë 😀"),
    field("avatar", avatar, '; filename="C:\\\\me\\\\a.png"\r\nContent-Type: image/png'),
    field("scopes[]", "api"),
    field("scopes[]", "read_user"),
    field("h[k]", ""),
    field("a[][k]", "1"),
    field("a[][j]", "2"),
    field("a[][k]", "3"),
  );
  const check = (set: RawSet) => {
    const { avatar: sent, ...rest } = set;
    assert.equal(Object.getPrototypeOf(set), null);
    assert.ok(sent instanceof UploadedFile);
    assert.deepEqual([sent.filename, sent.type, sent.bytes], ["a.png", "image/png", avatar]);
    assert.deepEqual(plain(rest), {
      name: "Zoë 😀",
      scopes: ["api", "read_user"],
      h: { k: "" },
      a: [{ k: "1", j: "2" }, { k: "3" }],
    });
  };

  for (const size of [1, 2, 3, 7, 64, 65_536])
    it(`is read in chunks of ${size}`, async () => check(await read(body, MULTIPART_LIMITS, size)));

  it("may be empty, and may have an epilogue", async () => {
    assert.deepEqual(plain(await read(form())), {});
    assert.deepEqual(plain(await read(Buffer.concat([form(field("a", "1")), Buffer.from("more\r\n--b\r\n")]))), {
      a: "1",
    });
  });

  it("treats a file that was not chosen as an empty text", async () => {
    assert.deepEqual(plain(await read(form(field("avatar", "", '; filename=""')))), { avatar: "" });
  });

  it("may fill its limits", async () => {
    const limits = { files: 1, partBytes: 100, totalBytes: 1_000 };
    const set = await read(form(field("a", "x".repeat(100)), field("f", "y".repeat(100), '; filename="f"')), limits);
    assert.equal((set["a"] as string).length, 100);
    assert.equal((set["f"] as UploadedFile).bytes.length, 100);
  });
});

describe("a form that is refused", () => {
  const broken = "invalid: The request body is not valid multipart data";
  const large = "too large: 413 Request Entity Too Large";
  const nul = "invalid: The parameters contain a NUL character";
  const utf8 = "invalid: The parameters are not valid UTF-8";
  const limits = { files: 1, partBytes: 100, totalBytes: 1_000 };
  const file = (name: string, size: number) => field(name, "y".repeat(size), '; filename="f"');
  const rows: [name: string, body: Buffer, problem: string][] = [
    ["nothing", Buffer.alloc(0), broken],
    ["no boundary", Buffer.from("hello"), broken],
    ["cut in a header", form(field("a", "1")).subarray(0, 20), broken],
    ["cut in a value", form(field("a", "1234")).subarray(0, -12), broken],
    ["cut before the end", form(field("a", "1")).subarray(0, -4), broken],
    ["headers without an end", Buffer.from('--b\r\nContent-Disposition: form-data; name="a"\r\n--b--\r\n'), broken],
    ["no name", Buffer.from("--b\r\nContent-Disposition: form-data\r\n\r\n1\r\n--b--\r\n"), broken],
    ["an empty name", form(field("", "1")), broken],
    ["a long field", form(field("a", "x".repeat(101))), large],
    ["a long file", form(file("a", 101)), large],
    ["too much", form(...Array.from({ length: 10 }, () => field("a", "x".repeat(90)))), large],
    ["too many files", form(file("a", 1), file("b", 1)), "invalid: More than 1 files"],
    ["a NUL", form(field("a", "\0")), nul],
    ["a NUL in a name", form(field("a\0", "1")), nul],
    ["broken UTF-8", form(field("a", Buffer.from([0xff]))), utf8],
    ["a surrogate", form(field("a", Buffer.from([0xed, 0xa0, 0x80]))), utf8],
    ["a forbidden name", form(field("__proto__[x]", "1")), "invalid: __proto__ is not allowed as a name"],
    ["deep names", form(field("a[b][c][d][e]", "1")), "invalid: Parameters nest deeper than 4 levels"],
    ["a conflict", form(field("a", "1"), field("a[b]", "1")), "invalid: a is invalid"],
    ["a file and a hash", form(file("a", 1), field("a[b]", "1")), "invalid: a is invalid"],
  ];
  for (const [name, body, problem] of rows) {
    for (const size of [1, 65_536])
      it(`${name}, in chunks of ${size}`, async () => assert.equal(await refusal(read(body, limits, size)), problem));
  }

  it("has too many parts", async () => {
    const parts = (count: number) => Array.from({ length: count }, (_, index) => field(`p${index}`, "1"));
    assert.equal(Object.keys(await read(form(...parts(1_000)))).length, 1_000);
    assert.equal(await refusal(read(form(...parts(1_001)))), "invalid: More than 1000 parameters");
    assert.equal(await refusal(read(form(...parts(1_100)))), "invalid: More than 1000 parameters");
  });

  it("has a type without a usable boundary", async () => {
    for (const type of [
      "multipart/form-data",
      `multipart/form-data; boundary=${"b".repeat(300)}`,
      "multipart/form-data; boundary=",
    ]) {
      const stream = inChunks(form(), 64);
      assert.equal(await refusal(readMultipart(stream, { "content-type": type })), broken);
    }
  });

  it("settles, however hostile", async () => {
    for (const unit of HOSTILE_UNITS) {
      await read(Buffer.alloc(MULTIPART_LIMITS.totalBytes, unit)).catch((error: unknown) =>
        assert.ok(error instanceof Refusal, String(error)),
      );
    }
  });

  it("settles, however it is mangled", async () => {
    const body = form(field("a", "1"), file("f", 30), field("h[k]", "v"), field("scopes[]", "x"));
    const mangled = fc
      .array(
        fc.tuple(
          fc.nat(body.length),
          fc.nat(6),
          fc.constantFrom("", "\r\n", "--b", "--b--", "\r\n\r\n", "\0", ":", ";", '"', "-"),
        ),
        { minLength: 1, maxLength: 4 },
      )
      .map((edits) =>
        edits.reduce((text, [at, cut, put]) => text.slice(0, at) + put + text.slice(at + cut), body.toString("latin1")),
      );
    await fc.assert(
      fc.asyncProperty(mangled, fc.constantFrom(1, 5, 50, 1_000), async (text, size) => {
        await read(Buffer.from(text, "latin1"), MULTIPART_LIMITS, size).catch((error: unknown) =>
          assert.ok(error instanceof Refusal, String(error)),
        );
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("a form over HTTP", () => {
  const serve = async (use: (port: number) => Promise<void>) => {
    const server = createServer((request: IncomingMessage, response) => {
      readMultipart(request, request.headers, { files: 1, partBytes: 1_000, totalBytes: 2_000 }).then(
        (set) => response.end(JSON.stringify(set)),
        (error: Refusal) => response.writeHead(400).end(error.message, () => server.emit("refused", error.message)),
      );
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    try {
      await use((server.address() as AddressInfo).port);
    } finally {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    }
  };

  it("is read, and one that is too large still gets a response", () =>
    serve(async (port) => {
      const send = (text: string) => {
        const body = new FormData();
        body.set("projectsLimit", text);
        return fetch(`http://127.0.0.1:${port}/`, { method: "PUT", body }).then((answer) => answer.text());
      };
      assert.equal(await send("7"), '{"projectsLimit":"7"}');
      assert.equal(await send("x".repeat(10_000_000)), "413 Request Entity Too Large");
      assert.equal(await send("7"), '{"projectsLimit":"7"}');
    }));

  it("fails when its sender disconnects", async () => {
    const seen = Promise.withResolvers<string>();
    const server = createServer(
      (request) => void refusal(readMultipart(request, request.headers)).then(seen.resolve, seen.reject),
    );
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(
      "PUT / HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 500\r\n\r\n--b\r\n",
      () => socket.destroy(),
    );
    assert.equal(await seen.promise, "invalid: The request body ended early");
    server.close();
  });

  it("fails when its sender had disconnected before", async () => {
    const stream = new Readable({ read: () => undefined });
    stream.destroy();
    await new Promise(setImmediate);
    assert.equal(await refusal(readMultipart(stream, headers)), "invalid: The request body ended early");
  });
});

describe("names in one client's spelling", () => {
  for (const [name, snake] of [
    ["projectsLimit", "projects_limit"],
    ["name", "name"],
    ["view_diffs", "view_diffs"],
    ["websiteUrl", "website_url"],
    ["Name", "name"],
  ] as const) {
    it(name, () => assert.equal(snakeCase(name), snake));
  }
});
