import assert from "node:assert/strict";
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  setGlobalProxyFromEnv,
} from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { readConfig } from "#config.ts";
import { boundedDns } from "#lib/dns.ts";
import { makeCertificate } from "#test/support/certificate.ts";
import { startDns, type TestDns } from "#test/support/dns.ts";
import { until } from "#test/support/until.ts";
import { openOutbound, type OutboundRequest, type Outcome } from "./outbound.ts";

const ALLOWED = "127.0.0.1";
const REFUSED = "127.0.0.2";

interface Site {
  readonly url: string;
  readonly port: number;
  /** The requests that arrived, with their bodies. */
  readonly seen: { readonly request: IncomingMessage; readonly body: string }[];
}

describe("outbound requests", () => {
  let dns: TestDns;
  const servers: Server[] = [];
  before(async () => {
    dns = await startDns();
  });
  after(async () => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    await dns.stop();
  });

  async function site(listener: RequestListener, host = ALLOWED): Promise<Site> {
    const seen: Site["seen"] = [];
    const server = createServer(async (request, response) => {
      seen.push({ request, body: Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString() });
      listener(request, response);
    }).listen(0, host);
    servers.push(server);
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    return { url: `http://${host}:${port}/`, port, seen };
  }

  const redirectTo = (location: string, status = 302) =>
    site((_request, response) => response.writeHead(status, { location }).end());

  const outbound = ({ allow = ALLOWED, allowLocal = false, env = {} } = {}) =>
    openOutbound(
      readConfig({ FAIRLEAD_OUTBOUND_ALLOW: allow, FAIRLEAD_DNS_SERVERS: dns.server, ...env }),
      boundedDns([dns.server]),
      () => Promise.resolve(allowLocal),
    );

  const send = (url: string, more: Partial<OutboundRequest> = {}, options: Parameters<typeof outbound>[0] = {}) =>
    outbound(options).request({ url, consumer: "project:1", ...more });

  const reasonOf = ({ failure }: Outcome) => failure?.reason;

  const ok = () => site((_request, response) => response.end("fine"));

  test("an allowed address is sent the request and answers", async () => {
    const { url, seen } = await site((_request, response) => response.writeHead(201, { "x-say": "hi" }).end("made"));
    const { answer } = await send(`${url}a?b=c`, { method: "POST", headers: { "X-Token": "t" }, body: "text" });
    assert.deepEqual([answer?.status, answer?.headers["x-say"], answer?.body.toString()], [201, "hi", "made"]);
    assert.equal(answer?.url, `${url}a?b=c`);
    const [{ request, body } = assert.fail("no request")] = seen;
    assert.deepEqual([request.method, request.url, body], ["POST", "/a?b=c", "text"]);
    assert.equal(request.headers["x-token"], "t");
    assert.equal(request.headers.connection, "close");
    assert.equal(request.headers["accept-encoding"], "identity");
  });

  test("local addresses are refused unless the list or the setting allows them", async () => {
    const { url, seen } = await ok();
    assert.equal(reasonOf(await send(url, {}, { allow: "" })), "destination");
    assert.equal(reasonOf(await send(url, {}, { allow: "10.0.0.0/8" })), "destination");
    assert.deepEqual(seen, []);
    assert.equal((await send(url, {}, { allow: "loopback" })).answer?.status, 200);
    assert.equal((await send(url, {}, { allow: "", allowLocal: true })).answer?.status, 200);
  });

  test("the ports of the process itself are refused whatever is allowed", async () => {
    const { url, port, seen } = await ok();
    for (const env of [{ FAIRLEAD_PORT: String(port) }, { FAIRLEAD_SSH_PORT: String(port) }]) {
      for (const host of ["127.0.0.1", "127.9.9.9", "localhost", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]"]) {
        const options = { allow: "0.0.0.0/0,::/0", allowLocal: true, env };
        assert.equal(reasonOf(await send(url.replace(ALLOWED, host), {}, options)), "destination", host);
      }
    }
    assert.deepEqual(seen, []);
  });

  test("a name is refused if any of its addresses is, or if it has none", async () => {
    const { port, seen } = await ok();
    await dns.serve({}, { "good.test": [ALLOWED], "mixed.test": [ALLOWED, "10.0.0.1"], "six.test": ["::ffff:7f00:1"] });
    assert.equal((await send(`http://good.test:${port}/`)).answer?.status, 200);
    assert.equal((await send(`http://GOOD.test.:${port}/`)).answer?.status, 200);
    assert.equal(seen.length, 2);
    for (const name of ["mixed.test", "missing.test", "a..test", "refused.example.com"]) {
      assert.equal(reasonOf(await send(`http://${name}:${port}/`)), "destination", name);
    }
    assert.equal(reasonOf(await send(`http://six.test:${port}/`, {}, { allow: "" })), "destination");
    assert.equal(seen.length, 2);
  });

  test("localhost needs no DNS", async () => {
    const { port } = await ok();
    assert.equal((await send(`http://localhost:${port}/`, {}, { allow: "loopback" })).answer?.status, 200);
    assert.equal(reasonOf(await send(`http://localhost:${port}/`, {}, { allow: "" })), "destination");
  });

  describe("redirects", () => {
    test("are followed to the end, and no further than allowed", async () => {
      const target = await ok();
      const second = await redirectTo(target.url);
      const first = await redirectTo(second.url);
      const { answer } = await send(first.url);
      assert.deepEqual([answer?.status, answer?.url], [200, target.url]);
      assert.equal(reasonOf(await send(first.url, { maxRedirects: 1 })), "redirect");
      assert.equal((await send(first.url, { maxRedirects: 0 })).answer?.status, 302);
      const endless = await site((_request, response) => response.writeHead(302, { location: "/again" }).end());
      assert.equal(reasonOf(await send(endless.url)), "redirect");
      assert.equal(endless.seen.length, 4);
    });

    test("to a refused address or URL end there", async () => {
      const inner = await site((_request, response) => response.end("secret"), REFUSED);
      await dns.serve({}, { "inner.test": [REFUSED] });
      for (const location of [
        inner.url,
        `//${REFUSED}:${inner.port}/`,
        `http://inner.test:${inner.port}/`,
        `http://0x7f000002:${inner.port}/`,
        `http://[::ffff:127.0.0.2]:${inner.port}/`,
      ]) {
        for (const status of [301, 302, 303, 307, 308]) {
          const { url } = await redirectTo(location, status);
          assert.equal(reasonOf(await send(url)), "destination", `${status} ${location}`);
        }
      }
      for (const location of ["file:///etc/passwd", "gopher://127.0.0.1/", "http://u:p@127.0.0.1/", "http://["]) {
        const { url } = await redirectTo(location);
        assert.equal(reasonOf(await send(url)), "url", location);
      }
      assert.deepEqual(inner.seen, []);
    });

    test("keep headers on the same site, and only harmless ones on another", async () => {
      const other = await ok();
      const headers = { authorization: "Bearer x", cookie: "a=b", "x-token": "t", accept: "text/plain" };
      const same = await site((request, response) =>
        request.url === "/" ? response.writeHead(302, { location: "/same" }).end() : response.end(),
      );
      await send(same.url, { headers });
      assert.equal(same.seen[1]?.request.headers.authorization, "Bearer x");
      const leaving = await redirectTo(other.url);
      await send(leaving.url, { headers });
      const { authorization, cookie, accept, "x-token": token } = other.seen[0]?.request.headers ?? {};
      assert.deepEqual([authorization, cookie, token, accept], [undefined, undefined, undefined, "text/plain"]);
    });

    test("send a body again only to the same site, and none after 303", async () => {
      const post = { method: "POST", body: "text" } as const;
      const other = await ok();
      assert.equal(reasonOf(await send((await redirectTo(other.url, 307)).url, post)), "redirect");
      assert.equal(other.seen.length, 0);
      assert.equal((await send((await redirectTo(other.url, 303)).url, post)).answer?.status, 200);
      assert.deepEqual(
        other.seen.map(({ request, body }) => [request.method, body]),
        [["GET", ""]],
      );
      const same = await site((request, response) =>
        request.url === "/" ? response.writeHead(308, { location: "/same" }).end() : response.end(),
      );
      await send(same.url, post);
      assert.deepEqual([same.seen[1]?.request.method, same.seen[1]?.body], ["POST", "text"]);
    });
  });

  describe("limits", () => {
    test("the size of an answer", async () => {
      const { url } = await site((_request, response) => response.end("x".repeat(1000)));
      assert.equal((await send(url, { maxBytes: 1000 })).answer?.body.length, 1000);
      assert.equal(reasonOf(await send(url, { maxBytes: 999 })), "too large");
      const endless = await site((_request, response) => {
        const write = () => {
          while (!response.destroyed && response.write("x".repeat(65_536)));
        };
        response.on("drain", write);
        write();
      });
      assert.equal(reasonOf(await send(endless.url)), "too large");
    });

    test("the time of a whole request", async () => {
      const silent = await site(() => {});
      assert.equal(reasonOf(await send(silent.url, { timeoutMs: 50 })), "timeout");
      const slow = await site((_request, response) => {
        const timer = setInterval(() => response.write("."), 5);
        response.on("close", () => clearInterval(timer));
      });
      assert.equal(reasonOf(await send(slow.url, { timeoutMs: 200 })), "timeout");
    });

    test("a caller that gives up gets its own error", async () => {
      const controller = new AbortController();
      const silent = await site(() => controller.abort(new Error("stopping")));
      await assert.rejects(send(silent.url, { signal: controller.signal }), /stopping/);
    });

    test("one consumer has eight connections, others are served meanwhile", async () => {
      const held: (() => void)[] = [];
      let holds = true;
      const { url } = await site((request, response) => {
        if (holds && request.url === "/hold") held.push(() => response.end());
        else response.end();
      });
      const shared = outbound();
      const busy = { url: `${url}hold`, consumer: "busy", timeoutMs: 60_000 };
      const settled = Promise.allSettled(Array.from({ length: 41 }, () => shared.request(busy)));
      await until("eight requests are held", async () => held.length === 8);
      assert.equal((await shared.request({ url, consumer: "other" })).answer?.status, 200);
      assert.equal(held.length, 8);
      holds = false;
      for (const release of held) release();
      // Eight at once and 32 that wait; the last one is refused.
      assert.equal((await settled).filter(({ status }) => status === "fulfilled").length, 40);
    });
  });

  test("failures of the other side are told apart", async () => {
    const closed = createTcpServer().listen(0, ALLOWED);
    await once(closed, "listening");
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, "close");
    assert.equal(reasonOf(await send(`http://${ALLOWED}:${port}/`)), "unreachable");
    const garbage = createTcpServer((socket) => void socket.on("error", () => {}).end("SSH-2.0-x\r\n\r\n"));
    garbage.listen(0, ALLOWED);
    await once(garbage, "listening");
    const at = `${ALLOWED}:${(garbage.address() as AddressInfo).port}/`;
    assert.equal(reasonOf(await send(`http://${at}`)), "malformed");
    assert.equal(reasonOf(await send(`https://${at}`)), "certificate");
    garbage.close();
    const short = await site((_request, response) => {
      response.writeHead(200, { "content-length": 10 }).write("12345", () => response.destroy());
    });
    assert.equal(reasonOf(await send(short.url)), "unreachable");
  });

  describe("https", () => {
    let directory: string;
    let ca: string;
    let key: string;
    let secure: TlsServer;
    let url: string;
    before(async () => {
      directory = await mkdtemp(join(tmpdir(), "fairlead-outbound-"));
      const files = makeCertificate(directory, "secure.test");
      [ca, key] = await Promise.all([readFile(files.certificate, "utf8"), readFile(files.key, "utf8")]);
      secure = createTlsServer({ cert: ca, key }, (request, response) =>
        request.url === "/down" ? response.writeHead(302, { location: plain.url }).end() : response.end("safe"),
      ).listen(0, ALLOWED);
      await once(secure, "listening");
      url = `https://secure.test:${(secure.address() as AddressInfo).port}/`;
      plain = await ok();
      await dns.serve({}, { "secure.test": [ALLOWED], "other.test": [ALLOWED] });
    });
    after(async () => {
      secure.close();
      await rm(directory, { recursive: true });
    });
    let plain: Site;

    test("a certificate must be trusted, for the name in the URL", async () => {
      assert.equal((await send(url, { ca })).answer?.body.toString(), "safe");
      assert.equal(reasonOf(await send(url)), "certificate");
      for (const host of ["other.test", ALLOWED]) {
        assert.equal(reasonOf(await send(url.replace("secure.test", host), { ca })), "certificate", host);
      }
    });

    test("certificates that cannot be read trust nobody", async () => {
      for (const bad of ["", "nonsense", ca.replace("MI", "XX"), ca.slice(0, 200), "\0"]) {
        assert.match(String(reasonOf(await send(url, { ca: bad }))), /^(request|certificate)$/, bad);
      }
    });

    test("is not left for http by a redirect", async () => {
      assert.equal(reasonOf(await send(`${url}down`, { ca })), "redirect");
      assert.deepEqual(plain.seen, []);
    });
  });

  test("a header that cannot be sent is a failure of the request", async () => {
    const { url, seen } = await ok();
    assert.equal(reasonOf(await send(url, { headers: { "x-a": "1\r\nx-b: 2" } })), "request");
    assert.equal(reasonOf(await send(url, { headers: { "x a": "1" } })), "request");
    assert.deepEqual(seen, []);
  });

  test("headers of the connection are not the caller's", async () => {
    const { url, port, seen } = await ok();
    await send(url, { headers: { Host: "inner.test", "Transfer-Encoding": "chunked", Connection: "keep-alive" } });
    const { host, connection, "transfer-encoding": encoding } = seen[0]?.request.headers ?? {};
    assert.deepEqual([host, connection, encoding], [`${ALLOWED}:${port}`, "close", undefined]);
  });

  test("no proxy of the environment is used", async () => {
    const proxy = await ok();
    const { url, seen } = await ok();
    const restore = setGlobalProxyFromEnv({ http_proxy: proxy.url, HTTP_PROXY: proxy.url });
    try {
      assert.equal((await send(url)).answer?.status, 200);
    } finally {
      restore();
    }
    assert.deepEqual([proxy.seen.length, seen.length], [0, 1]);
  });
});
