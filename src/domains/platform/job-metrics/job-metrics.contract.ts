import type { Contract } from "#test/contract.ts";
import { line, READ } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /jobqueue/queue_metrics": line(401, 403, 200, READ),
    "GET /jobqueue/process_metrics": line(401, 403, 200, READ),
    "GET /jobqueue/job_stats": line(401, 403, 200, READ),
    "GET /jobqueue/compound_metrics": line(401, 403, 200, READ),
  },
};
