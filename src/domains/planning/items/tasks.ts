const TASK = /^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\](?=\s|$)/gm;

/** Of a description that was written before its tasks were counted, a list reads no more than this. */
const MAX_UNCOUNTED_LENGTH = 16 * 1024;

interface TaskColumns {
  readonly task_count: number | null;
  readonly completed_task_count: number | null;
}

/** The columns that are stored with a description. */
export function taskColumns(description: string | null): TaskColumns {
  const { count, completed } = countTasks(description ?? "");
  return { task_count: count, completed_task_count: completed };
}

/** The tasks of an item as they were counted when its description was written. */
export const tasksOf = (item: TaskColumns & { readonly description: string | null }) =>
  item.task_count === null
    ? countTasks((item.description ?? "").slice(0, MAX_UNCOUNTED_LENGTH))
    : { count: item.task_count, completed: item.completed_task_count ?? 0 };

/** How many items of task lists, `- [ ]` and `- [x]`, a text has, and how many of them are completed. */
function countTasks(text: string): { count: number; completed: number } {
  let count = 0;
  let completed = 0;
  for (const [, mark] of text.matchAll(TASK)) {
    count += 1;
    if (mark !== " ") completed += 1;
  }
  return { count, completed };
}
