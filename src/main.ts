import { fail, print } from "./commands/output.ts";

type Run = (args: string[]) => Promise<void>;

/** What `fairlead` can do; a command is loaded only when it is asked for, so that each starts fast. */
const commands: Record<string, { about: string; load: () => Promise<Run> }> = {
  serve: {
    about: "start everything in one process; without FAIRLEAD_DATABASE_URL with a PostgreSQL of its own",
    load: async () => (await import("./commands/serve.ts")).serve,
  },
  web: {
    about: "start a web process beside others on the same FAIRLEAD_DATABASE_URL",
    load: async () => (await import("./commands/serve.ts")).web,
  },
  worker: {
    about: "worker [--queues critical,default]: start a process that works on jobs beside others",
    load: async () => (await import("./commands/worker.ts")).worker,
  },
  ssh: {
    about: "start a process that serves git over SSH beside others",
    load: async () => (await import("./commands/ssh.ts")).ssh,
  },
  "authorized-keys": {
    about: "authorized-keys [--program PATH] TYPE BASE64: what sshd asks by AuthorizedKeysCommand",
    load: async () => (await import("./commands/authorized-keys.ts")).authorizedKeys,
  },
  "git-session": {
    about: "git-session --key FINGERPRINT: serve git to a key that sshd has verified",
    load: async () => (await import("./commands/git-session.ts")).gitSession,
  },
  jobs: {
    about: "jobs dead | jobs redrive [QUEUE]: list the jobs that died, or let them be tried again",
    load: async () => (await import("./commands/jobs.ts")).jobsCommand,
  },
  setup: {
    about: "make the first administrator and print their token, once",
    load: async () => (await import("./commands/setup.ts")).setup,
  },
  token: {
    about: "token create --user NAME [--name TEXT] [--scopes a,b] [--expires YYYY-MM-DD]: make a token and print it",
    load: async () => (await import("./commands/token.ts")).token,
  },
  admin: {
    about: "admin grant USERNAME | admin revoke USERNAME: make a user an administrator, or no longer one",
    load: async () => (await import("./commands/admin.ts")).admin,
  },
  migrate: {
    about: "bring the database up to date",
    load: async () => (await import("./commands/migrate.ts")).migrateCommand,
  },
  doctor: {
    about: "look for what is wrong with this installation and say what to do",
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  config: {
    about: "print every setting and its value",
    load: async () => (await import("./commands/config.ts")).printConfig,
  },
  seed: {
    about:
      "seed --users 1m --projects 2m --tokens 5m: fill a database with made-up users, groups, projects and tokens, to try and to measure",
    load: async () => (await import("./commands/seed.ts")).seed,
  },
};

const [name = "help", ...args] = process.argv.slice(2);
const command = commands[name];
if (command) {
  try {
    await (
      await command.load()
    )(args);
  } catch (error) {
    fail(error);
  }
} else {
  const width = Math.max(...Object.keys(commands).map((known) => known.length));
  print("Usage: fairlead COMMAND\n");
  for (const [known, { about }] of Object.entries(commands)) print(`  ${known.padEnd(width)}  ${about}`);
  if (!["help", "--help", "-h"].includes(name)) fail(new Error(`'${name}' is not a command`));
}
