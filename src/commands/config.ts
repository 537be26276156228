import { describeSettings, readConfig } from "#config.ts";
import { print } from "./output.ts";

export async function printConfig() {
  for (const { env, value, about } of describeSettings(readConfig())) print(`${env}=${value}\n    ${about}`);
}
