/**
 * The most CPU time, in milliseconds, that this thread spent in one turn of its event loop while `work` went on. Wall
 * time would also count what other processes do with the core.
 */
export async function longestBlock<T>(work: () => Promise<T>): Promise<{ result: T; longest: number }> {
  let longest = 0;
  let over = false;
  let last = process.threadCpuUsage();
  const look = () => {
    const spent = process.threadCpuUsage(last);
    longest = Math.max(longest, (spent.user + spent.system) / 1000);
    last = process.threadCpuUsage();
    if (!over) setImmediate(look);
  };
  setImmediate(look);
  try {
    const result = await work();
    return { result, longest };
  } finally {
    over = true;
  }
}
