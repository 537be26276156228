import { readdir, readFile } from "node:fs/promises";

/** The running git processes that a process started, optionally only those whose command contains a word. */
export async function gitProcesses(word = "", parent: number | "self" = "self"): Promise<number[]> {
  const found: number[] = [];
  for (const task of await readdir(`/proc/${parent}/task`)) {
    const children = await readFile(`/proc/${parent}/task/${task}/children`, "utf8").catch(() => "");
    for (const child of children.split(" ").filter(Boolean)) {
      const command = await readFile(`/proc/${child}/cmdline`, "utf8").catch(() => "");
      if (command.startsWith("git\0") && command.includes(word)) found.push(Number(child));
    }
  }
  return found;
}
