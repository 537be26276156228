import { type Worker, runWorker } from "#jobs/worker.ts";
import { jobs } from "#domains/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { type SmtpServer, startSmtp } from "#test/support/smtp.ts";
import { until } from "#test/support/until.ts";
import { type Mail, mailTo } from "./send.ts";

export const SITE = "https://fairlead.example";

export interface Post {
  readonly app: TestApp;
  readonly smtp: SmtpServer;
  send(mail: Mail): Promise<void>;
  /** Waits until no job remains to run. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** An application with its own database, a real mail server, and a worker that sends. */
export async function startPost(env: Record<string, string> = {}, smtp?: SmtpServer): Promise<Post> {
  const server = smtp ?? (await startSmtp());
  const settings = { FAIRLEAD_SMTP_URL: server.url, FAIRLEAD_EXTERNAL_URL: SITE, ...env };
  const app = await testApp({ databaseUrl: await freshDatabase(), env: settings });
  const worker: Worker = await runWorker(app.services, jobs, { queues: ["mail", "notifications", "default"] });
  const { db, jobs: queue } = app.services;
  return {
    app,
    smtp: server,
    send: (mail) => db.transaction((tx) => mailTo(queue, tx, mail)),
    async settled() {
      await until("an empty queue", async () => (await waitingJobs(app)) === 0);
    },
    async close() {
      await worker.stop();
      await app.close();
      await server.close();
    },
  };
}

async function waitingJobs({ services }: TestApp): Promise<number> {
  const rows = await services.db.point.query<{ count: number }>(
    "select count(*)::integer as count from jobs.job where name in ('mail', 'notifications', 'default') and state < 'completed'",
    [],
  );
  return rows[0]?.count ?? 0;
}
