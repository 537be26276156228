import { duplexPair } from "node:stream";
import fc from "fast-check";
import { testApp } from "#test/support/app.ts";
const app = await testApp();
const user = await app.makeUser();
function lane() {
  const [client, server] = duplexPair();
  Object.assign(server, { remoteAddress: "127.0.0.1" });
  app.app.server.emit("connection", server);
  return client;
}
const c = lane();
async function ask(c: any, text: string) {
  return new Promise<string>((resolve) => { let all = ""; const f = (d: Buffer) => { all += d.toString("latin1"); const h = all.indexOf("\r\n\r\n"); if (h < 0) return; const m = /content-length: (\d+)/.exec(all); if (all.length >= h + 4 + Number(m?.[1] ?? 0)) { c.off("data", f); resolve(all); } }; c.on("data", f); c.write(text); });
}
const req = `GET /api/v4/users/${user.id} HTTP/1.1\r\nhost: localhost\r\nprivate-token: ${user.token}\r\n\r\n`;
console.log(await ask(c, req));
for (const lanes of [1, 8]) {
  const cs = Array.from({ length: lanes }, lane);
  for (let r = 0; r < 2; r++) {
  const t = performance.now(); const u = process.cpuUsage();
  await Promise.all(cs.map(async (c) => { for (let i = 0; i < 3000 / lanes; i++) await ask(c, req); }));
  const d = process.cpuUsage(u);
  console.log(lanes, "duplex/s", 3000 / (performance.now() - t) * 1000, (d.user + d.system) / 3000, "us cpu"); }
}
{ const t = performance.now(); for (let i = 0; i < 2000; i++) await app.get(`/users/${user.id}`, { token: user.token }); console.log("inject/s", 2000 / (performance.now() - t) * 1000); }
const arb = fc.record({ a: fc.string(), b: fc.oneof(fc.integer(), fc.constant("x")), c: fc.array(fc.nat()) });
{ const t = performance.now(); let n = 0; for (let i = 0; i < 5000; i++) { fc.sample(arb, { seed: i, numRuns: 1 }); n++; } console.log("sample us", (performance.now() - t) / n * 1000); }
{ const t = performance.now(); fc.sample(arb, { seed: 1, numRuns: 5000 }); console.log("sample batch us", (performance.now() - t) / 5000 * 1000); }
const [v] = fc.sample(arb, { seed: 77, numRuns: 1 });
let first: unknown; await fc.check(fc.asyncProperty(arb, async (x) => { first ??= x; }), { seed: 77, numRuns: 1 });
console.log(JSON.stringify(v) === JSON.stringify(first));
await app.close(); process.exit(0);
