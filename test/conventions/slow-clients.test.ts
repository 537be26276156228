import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { until } from "#test/support/until.ts";
import { FILE_BYTES, type LargeFile, serveLargeFile, SOCKETS } from "./slow-clients.fixtures.ts";

describe("a server with clients that request large responses and do not read them", () => {
  let served: LargeFile;
  before(async () => {
    served = await serveLargeFile();
  });
  after(() => served.close());

  test("sends few of the responses, refuses the rest and serves other clients", async () => {
    const { get, target } = served;
    const { size } = (await (await get(target)).json()) as { size: number };
    assert.equal(size, FILE_BYTES);
    const heads = await served.headsOnly();

    const user = await get("/api/v4/user");
    assert.equal(user.status, 200);
    await user.body?.cancel();
    const refused = heads.filter((head) => !head.startsWith("HTTP/1.1 200 "));
    assert.ok(refused.length > 0 && refused.length < SOCKETS, `${refused.length} were refused`);
    for (const head of refused) {
      assert.match(head, /^HTTP\/1\.1 503 /);
      assert.match(head, /^retry-after: \d+\r$/m);
      assert.doesNotMatch(head, /^etag:/m);
    }

    served.disconnect();
    await until("the memory is free again", async () => {
      const answer = await get(target);
      await answer.body?.cancel();
      return answer.status === 200;
    });
  });
});
