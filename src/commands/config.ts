import { parseArgs } from "node:util";
import { describeSettings, readConfig } from "#config.ts";
import { print } from "./output.ts";

export async function printConfig(args: string[]) {
  parseArgs({ args });
  for (const { env, value, about } of describeSettings(readConfig())) print(`${env}=${value}\n    ${about}`);
}
