import type { RunCommand, Terminal } from "./terminal.ts";

/** A command of `fairlead` as help shows it. */
export interface Command {
  readonly about: string;
  /** What may follow its name, one text for each form. */
  readonly usage?: readonly string[];
  readonly options?: Readonly<Record<string, string>>;
  load(): Promise<RunCommand>;
}

/** Prints one line for each command. */
export function printCommands({ print }: Terminal, commands: Readonly<Record<string, Command>>) {
  print("Usage: fairlead COMMAND [OPTIONS]\n");
  printTable(print, Object.fromEntries(Object.entries(commands).map(([name, { about }]) => [name, about])));
  print("\n'fairlead COMMAND --help' says more about one of them, 'fairlead --version' prints the release.");
}

export function printHelp({ print }: Terminal, name: string, { about, usage = [""], options = {} }: Command) {
  for (const [at, form] of usage.entries())
    print(`${at === 0 ? "Usage:" : "      "} fairlead ${name} ${form}`.trimEnd());
  print(`\n${about[0]?.toUpperCase()}${about.slice(1)}.\n`);
  printTable(print, { ...options, "--help": "print this" });
  print("\nSettings are environment variables: 'fairlead config' lists them.");
}

function printTable(print: Terminal["print"], rows: Readonly<Record<string, string>>) {
  const width = Math.max(...Object.keys(rows).map((row) => row.length));
  for (const [row, text] of Object.entries(rows)) print(`  ${row.padEnd(width)}  ${text}`);
}
