import type { Contract } from "#test/contract.ts";
import { line, MADE, WRITE } from "#test/matrix/line.ts";

const PENDING = { state: "blocked_pending_approval" } as const;

export const contract: Contract = {
  lines: {
    "POST /users/:id/block": line(401, 403, [403, 201, 404], WRITE, { object: "newcomer" }),
    "POST /users/:id/unblock": line(401, 403, MADE, WRITE, { object: "newcomer", newcomer: { state: "blocked" } }),
    "POST /users/:id/ban": line(401, 403, [403, 201, 404], WRITE, { object: "newcomer" }),
    "POST /users/:id/unban": line(401, 403, [403, 201, 404], WRITE, {
      object: "newcomer",
      newcomer: { state: "banned" },
    }),
    "POST /users/:id/deactivate": line(401, 403, [403, 201, 404], WRITE, { object: "newcomer" }),
    "POST /users/:id/activate": line(401, 403, MADE, WRITE, { object: "newcomer", newcomer: { state: "deactivated" } }),
    "POST /users/:id/approve": line(401, 403, [409, 201, 404], WRITE, { object: "newcomer", newcomer: PENDING }),
    "POST /users/:id/unlock": line(401, 403, MADE, WRITE, {
      object: "newcomer",
      newcomer: { failed_attempts: 10, locked_until: "2999-01-01T00:00:00Z" },
    }),
    "POST /users/:id/reject": line(401, 403, [409, 201, 404], WRITE, { object: "newcomer", newcomer: PENDING }),
  },
};
