import { readdir, readFile } from "node:fs/promises";

/** The running git processes that this process started, optionally only those whose command contains a word. */
export async function gitProcesses(word = ""): Promise<number[]> {
  const found: number[] = [];
  for (const task of await readdir("/proc/self/task")) {
    const children = await readFile(`/proc/self/task/${task}/children`, "utf8").catch(() => "");
    for (const child of children.split(" ").filter(Boolean)) {
      const command = await readFile(`/proc/${child}/cmdline`, "utf8").catch(() => "");
      if (command.startsWith("git\0") && command.includes(word)) found.push(Number(child));
    }
  }
  return found;
}
