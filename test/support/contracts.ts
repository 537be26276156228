import { globSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Contract } from "#test/contract.ts";

const domains = join(import.meta.dirname, "../../src/domains");

/** The files of all contracts, in a stable order. */
export const contractFiles: readonly string[] = globSync("**/*.contract.ts", { cwd: domains })
  .map((file) => join(domains, file))
  .toSorted();

/** The contracts of all resources. */
export const contracts: readonly Contract[] = await Promise.all(contractFiles.map(load));

async function load(file: string): Promise<Contract> {
  const { contract } = (await import(pathToFileURL(file).href)) as { contract?: Contract };
  if (!contract) throw new Error(`${file} exports no contract`);
  return contract;
}
