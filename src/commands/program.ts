import { RELEASE } from "#lib/release.ts";
import { type Command, printCommands, printHelp } from "./help.ts";
import { argumentProblem, isOfArguments, textOf } from "./output.ts";
import type { Terminal } from "./terminal.ts";

/** The commands of `fairlead`; each module is loaded only when its command is run, so that every command starts fast. */
const commands: Record<string, Command> = {
  serve: {
    about: "start everything in one process; without FAIRLEAD_DATABASE_URL also a PostgreSQL of its own",
    load: async () => (await import("./serve.ts")).serve,
  },
  web: {
    about: "start a web process beside others on the same FAIRLEAD_DATABASE_URL",
    load: async () => (await import("./serve.ts")).web,
  },
  worker: {
    about: "start a process that works on jobs beside others",
    usage: ["[--queues LIST]"],
    options: { "--queues LIST": "work only on these queues, such as critical,default" },
    load: async () => (await import("./worker.ts")).worker,
  },
  ssh: {
    about: "start a process that serves git over SSH beside others",
    load: async () => (await import("./ssh.ts")).ssh,
  },
  "authorized-keys": {
    about: "look up a key for sshd's AuthorizedKeysCommand",
    usage: ["[--program PATH] TYPE BASE64"],
    options: { "--program PATH": "what sshd shall run for the key; bin/fairlead by default" },
    load: async () => (await import("./authorized-keys.ts")).authorizedKeys,
  },
  "git-session": {
    about: "serve git to a key that sshd has verified",
    usage: ["--key FINGERPRINT"],
    options: { "--key FINGERPRINT": "the key, as authorized-keys printed it" },
    load: async () => (await import("./git-session.ts")).gitSession,
  },
  jobs: {
    about: "list dead jobs, or queue them again",
    usage: ["dead", "redrive [QUEUE]"],
    load: async () => (await import("./jobs.ts")).jobsCommand,
  },
  moves: {
    about: "show how far the moves of repositories between storages are",
    usage: ["watch [--once]"],
    options: { "--once": "print it once instead of until none is left" },
    load: async () => (await import("./moves.ts")).movesCommand,
  },
  setup: {
    about: "create the first administrator and print their token, once",
    load: async () => (await import("./setup.ts")).setup,
  },
  token: {
    about: "create a token and print it",
    usage: ["create --user NAME [--name TEXT] [--scopes LIST] [--expires DATE]"],
    options: {
      "--user NAME": "whose token",
      "--name TEXT": "what it is called in lists",
      "--scopes LIST": "such as api,sudo; api by default",
      "--expires DATE": "as YYYY-MM-DD; by default when the settings of the instance say",
    },
    load: async () => (await import("./token.ts")).token,
  },
  invite: {
    about: "create an account and print a link by which its user chooses a password",
    usage: ["USERNAME [--email ADDRESS [--name TEXT]]"],
    options: {
      "--email ADDRESS": "of a new account; without it the account must exist",
      "--name TEXT": "what a new user is called; the username by default",
    },
    load: async () => (await import("./invite.ts")).invite,
  },
  admin: {
    about: "make a user an administrator, or undo it",
    usage: ["grant USERNAME", "revoke USERNAME"],
    load: async () => (await import("./admin.ts")).admin,
  },
  migrate: {
    about: "bring the database up to date",
    usage: ["[--dry-run]"],
    options: {
      "--dry-run":
        "print what would run and which tables it locks: runs it in a transaction that is rolled back, so it takes the same locks for as long",
    },
    load: async () => (await import("./migrate.ts")).migrateCommand,
  },
  doctor: {
    about: "check this installation and say how to fix each problem; changes nothing",
    load: async () => (await import("./doctor.ts")).doctor,
  },
  config: {
    about: "print every setting and its value",
    load: async () => (await import("./config.ts")).printConfig,
  },
  seed: {
    about: "fill an empty database with generated users, groups, projects and tokens, for trials and measurements",
    usage: ["[--users N] [--projects N] [--tokens N] [--into-existing]"],
    options: {
      "--users N": "1000 by default; 50k and 1m are numbers too",
      "--projects N": "2000 by default",
      "--tokens N": "0 by default",
      "--into-existing":
        "also into a database that has users, groups or projects, which then get generated projects and members",
    },
    load: async () => (await import("./seed.ts")).seed,
  },
};

/** Runs `fairlead` with these arguments and returns the exit code; an error is printed in one line. */
export async function runProgram([name = "help", ...args]: readonly string[], terminal: Terminal): Promise<number> {
  const fail = (problem: string) => {
    terminal.printAside(`fairlead: ${problem}`);
    return 1;
  };
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command && args.some((argument) => argument === "--help" || argument === "-h")) {
    printHelp(terminal, name, command);
    return 0;
  }
  if (command) {
    try {
      const run = await command.load();
      return (await run(args, terminal)) ?? 0;
    } catch (error) {
      return fail(isOfArguments(error) ? argumentProblem(name, error) : textOf(error));
    }
  }
  if (name === "--version") {
    terminal.print(`fairlead ${RELEASE}`);
    return 0;
  }
  printCommands(terminal, commands);
  return ["help", "--help", "-h"].includes(name) ? 0 : fail(`'${name}' is not a command`);
}
