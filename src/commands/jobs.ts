import { parseArgs } from "node:util";
import { readConfig } from "#config.ts";
import { deadJobs, redrive } from "#jobs/dead.ts";
import { openLog, openServices } from "#services.ts";
import { withDatabase } from "./database.ts";
import type { Terminal } from "./terminal.ts";
import { queueOf } from "./worker.ts";

const USAGE = "usage: fairlead jobs dead | fairlead jobs redrive [QUEUE]";

/** Lists dead jobs or queues them again. */
export async function jobsCommand(args: string[], terminal: Terminal) {
  const [what = "", queue, ...more] = parseArgs({ args, allowPositionals: true }).positionals;
  if (more.length > 0 || !(what === "redrive" || (what === "dead" && queue === undefined))) throw new Error(USAGE);
  const only = queue === undefined ? undefined : queueOf(queue);
  const config = readConfig(terminal.env);
  const log = openLog(config, "stderr");
  await withDatabase(config, terminal, async (url) => {
    const services = openServices(config, url, log);
    try {
      if (what === "redrive") terminal.print(`Queued again: ${await redrive(services.db, log, only)}`);
      else for (const dead of await deadJobs(services.db.read)) terminal.print(JSON.stringify(dead));
    } finally {
      await services.close();
    }
  });
}
