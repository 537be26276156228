import { environment, type Environment } from "#config.ts";

/** Where a command reads its settings and prints: the process that it runs in, or a test. */
export interface Terminal {
  readonly env: Environment;
  /** Prints a line of what was asked for; what machines read goes to the log. */
  print(line: string): void;
  /** Prints a line for the person where standard output is for machines. */
  printAside(line: string): void;
}

export const terminalOfProcess: Terminal = {
  env: environment,
  print: (line) => void process.stdout.write(`${line}\n`),
  printAside: (line) => void process.stderr.write(`${line}\n`),
};

/** Runs a command to its end, or until it serves, and returns the exit code of the process if that is not 0. */
export type RunCommand = (args: string[], terminal: Terminal) => Promise<number | void>;
