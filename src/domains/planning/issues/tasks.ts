const TASK = /^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\](?=\s|$)/gm;

/** How many items of task lists, `- [ ]` and `- [x]`, a text has, and how many of them are completed. */
export function countTasks(text: string): { count: number; completed: number } {
  let count = 0;
  let completed = 0;
  for (const [, mark] of text.matchAll(TASK)) {
    count += 1;
    if (mark !== " ") completed += 1;
  }
  return { count, completed };
}
