import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "pg";
import { startServer, type RunningServer } from "#test/support/server.ts";

const timeLimit = 120_000;

// Debian's packages belong to Debian's interpreters, so those are named by path.
const clients = [
  {
    name: "python-gitlab",
    interpreter: "/usr/bin/python3",
    scripts: [
      "python_users.py",
      "python_identity.py",
      "python_tree.py",
      "python_moved.py",
      "python_git.py",
      "python_clusters.py",
      "python_labels.py",
      "python_issues.py",
      "python_epics.py",
      "python_links.py",
      "python_milestones.py",
      "python_notes.py",
      "python_todos.py",
      "python_notifications.py",
      "python_events.py",
      "python_merge_requests.py",
      "python_snippets.py",
      "python_wikis.py",
    ],
  },
  {
    name: "ruby-gitlab",
    interpreter: "/usr/bin/ruby",
    scripts: [
      "ruby_users.rb",
      "ruby_identity.rb",
      "ruby_tree.rb",
      "ruby_moved.rb",
      "ruby_git.rb",
      "ruby_clusters.rb",
      "ruby_labels.rb",
      "ruby_issues.rb",
      "ruby_epics.rb",
      "ruby_links.rb",
      "ruby_milestones.rb",
      "ruby_notes.rb",
      "ruby_todos.rb",
      "ruby_notifications.rb",
      "ruby_events.rb",
      "ruby_merge_requests.rb",
    ],
  },
  {
    name: "gitbeaker",
    interpreter: process.execPath,
    scripts: [
      "gitbeaker-users.ts",
      "gitbeaker-identity.ts",
      "gitbeaker-tree.ts",
      "gitbeaker-moved.ts",
      "gitbeaker-git.ts",
      "gitbeaker-monitoring.ts",
      "gitbeaker-labels.ts",
      "gitbeaker-issues.ts",
      "gitbeaker-epics.ts",
      "gitbeaker-links.ts",
      "gitbeaker-milestones.ts",
      "gitbeaker-notes.ts",
      "gitbeaker-todos.ts",
      "gitbeaker-notifications.ts",
      "gitbeaker-events.ts",
      "gitbeaker-merge-requests.ts",
      "gitbeaker-storage-moves.ts",
      "gitbeaker-snippets.ts",
      "gitbeaker-wikis.ts",
    ],
  },
];

/** With arguments only the scripts run whose name contains one of them. */
const wanted = process.argv.slice(2);
const runs = clients.flatMap(({ name, interpreter, scripts }) =>
  scripts
    .filter((script) => wanted.length === 0 || wanted.some((word) => script.includes(word)))
    .map((script) => ({ name, interpreter, script })),
);

type Count = { passed: number; failed: number };

/** Writes the initial state of some scripts to the database: a blocked user and custom attributes. */
async function writeFixtures(databaseUrl: string): Promise<void> {
  const database = new Client({ connectionString: databaseUrl });
  await database.connect();
  await database.query(`
    with places as (
      insert into namespaces (path, name)
      values ('fixture-blocked', 'Blocked'), ('fixture-window', 'Window'), ('fixture-door', 'Door')
      returning id, path, name
    ), people as (
      insert into users (username, name, email, namespace_id, state, confirmed_at)
      select path, name, path || '@example.com', id,
        case path when 'fixture-blocked' then 'blocked' else 'active' end, now()
      from places
      returning id, username
    )
    insert into user_custom_attributes (user_id, key, value)
    select id, 'desk', replace(username, 'fixture-', '') from people where username <> 'fixture-blocked'
  `);
  await database.end();
}

async function runClient({ name, interpreter, script }: (typeof runs)[number], server: RunningServer): Promise<Count> {
  console.log(`# ${name}, ${script}`);
  const count: Count = { passed: 0, failed: 0 };
  const child = spawn(interpreter, [join(import.meta.dirname, script)], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: timeLimit,
    killSignal: "SIGKILL",
    env: {
      ...process.env,
      no_proxy: "127.0.0.1",
      PYTHONDONTWRITEBYTECODE: "1",
      FAIRLEAD_URL: server.url,
      FAIRLEAD_TOKEN: server.token,
    },
  });
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(signal ?? String(code)));
  });
  for await (const line of createInterface({ input: child.stdout })) {
    console.log(line);
    if (line.startsWith("ok ")) count.passed += 1;
    if (line.startsWith("not ok ")) count.failed += 1;
  }
  // A script exits with 0 only after its last check, so another status without a failed check means that it crashed.
  const end = await ended;
  if (count.failed === 0 && (end !== "0" || count.passed === 0)) {
    console.log(`not ok ${script} runs to its end: ended with ${end} after ${count.passed} checks`);
    count.failed += 1;
  }
  return count;
}

async function runAll(): Promise<Count> {
  const total: Count = { passed: 0, failed: 0 };
  const storages = await mkdtemp(join(tmpdir(), "fairlead-clients-"));
  const server = await startServer({
    FAIRLEAD_STORAGES: `default=${join(storages, "default")},second=${join(storages, "second")}`,
  });
  try {
    await writeFixtures(server.databaseUrl);
    for (const run of runs) {
      const { passed, failed } = await runClient(run, server);
      total.passed += passed;
      total.failed += failed;
    }
    if (total.failed > 0) console.log(`# the server's log ends with\n${server.log().slice(-8_000)}`);
  } finally {
    await server.stop();
    await rm(storages, { recursive: true, force: true });
  }
  return total;
}

const { passed, failed } = await runAll().catch((error: unknown) => {
  console.error(error);
  return { passed: 0, failed: 1 };
});
console.log(`clients: ${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
