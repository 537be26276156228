import type { Contract } from "#test/contract.ts";
import { line, READ } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /-/health": line(200, 200, 200, READ, { ignoresCredentials: true }),
    "GET /-/liveness": line(200, 200, 200, READ, { ignoresCredentials: true }),
    "GET /-/readiness": line(200, 200, 200, READ, { loopback: 200, adminsSee: "checks" }),
    "GET /-/metrics": line(403, 403, 200, READ, { loopback: 200 }),
  },
};
