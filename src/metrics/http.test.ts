import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { meterHttp } from "./http.ts";

const NAME = "fairlead_http_request_duration_seconds";
const STATUSES = [200, 400, 401, 403, 404, 409, 412, 422, 429];

describe("the durations of requests", () => {
  test("are one metric, with a series for each operation and status", async () => {
    const http = meterHttp();
    http.meterOf("users.list").count(200, 7);
    http.meterOf("users.list").count(404, 7);
    http.meterOf("users.get").count(200, 7);
    const lines = (await http.text()).split("\n");
    assert.equal(lines.filter((line) => line === `# TYPE ${NAME} histogram`).length, 1);
    const counts = lines.filter((line) => line.startsWith(`${NAME}_count`));
    assert.deepEqual(counts, [
      `${NAME}_count{operation="users.list",status="200"} 1`,
      `${NAME}_count{operation="users.list",status="404"} 1`,
      `${NAME}_count{operation="users.get",status="200"} 1`,
    ]);
    assert.ok(lines.includes(`${NAME}_bucket{le="0.01",operation="users.get",status="200"} 1`));
  });

  test("are formatted without blocking other requests", async () => {
    const http = meterHttp();
    for (let operation = 0; operation < 1000; operation++) {
      for (const status of STATUSES) http.meterOf(`resources.operation${operation}`).count(status, 7);
    }
    let turns = 0;
    let over = false;
    const turn = () => {
      turns++;
      if (!over) setImmediate(turn);
    };
    setImmediate(turn);
    const { length } = await http.text();
    over = true;
    assert.ok(length > 5_000_000);
    assert.ok(turns > 1, "all at once");
  });
});
