import { parseArgs } from "node:util";
import { describeSettings, readConfig } from "#config.ts";
import type { Terminal } from "./terminal.ts";

export async function printConfig(args: string[], terminal: Terminal) {
  parseArgs({ args });
  for (const { env, value, about } of describeSettings(readConfig(terminal.env)))
    terminal.print(`${env}=${value}\n    ${about}`);
}
