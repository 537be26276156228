import type { Contract } from "#test/contract.ts";
import { line, READ } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /": line(302, 302, 302, READ),
    "GET /-/api": line(200, 200, 200, READ),
    "GET /-/api/openapi.json": line(200, 200, 200, READ),
    "GET /-/api/:file": line(200, 200, 200, READ, { send: "file=start.js" }),
  },
};
