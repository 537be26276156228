import { readdir, readFile } from "node:fs/promises";

/** The commands of git that this process started and that still run, each as its arguments in one line. */
export async function gitChildren(): Promise<string[]> {
  const found: string[] = [];
  for (const task of await readdir("/proc/self/task")) {
    const children = await readFile(`/proc/self/task/${task}/children`, "utf8").catch(() => "");
    for (const child of children.split(" ").filter(Boolean)) {
      const command = await readFile(`/proc/${child}/cmdline`, "utf8").catch(() => "");
      if (command.startsWith("git\0")) found.push(command.replaceAll("\0", " "));
    }
  }
  return found;
}
