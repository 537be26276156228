import { once } from "node:events";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Consumer } from "#lib/consumer.ts";
import { unprocessable } from "#lib/refusal.ts";
import { fairSemaphore } from "#lib/semaphore.ts";
import type { Rendered, RenderTask } from "./render.ts";

/** Renders Markdown as HTML that is safe in a page. */
export interface MarkdownRenderer {
  /** Refuses a text that takes too long, or that would become too large. */
  render(task: RenderTask, consumer: Consumer): Promise<string>;
  close(): Promise<void>;
}

export interface RendererLimits {
  /** Texts at once. */
  readonly threads?: number;
  readonly maxRenderMs?: number;
}

const MAX_RENDER_MS = 5000;
const MAX_START_MS = 30_000;
const MAX_WAIT_MS = 30_000;
const MAX_WAITING = 64;
const MAX_WAITING_EACH = 8;
const MAX_HEAP_MB = 256;

/**
 * Renders in threads: a long text takes hundreds of milliseconds, and one that is meant to be slow is stopped together
 * with its thread. The threads are started when they are needed and wait for the next text.
 */
export function openMarkdown({
  threads = Math.max(availableParallelism() - 1, 1),
  maxRenderMs = MAX_RENDER_MS,
}: RendererLimits = {}): MarkdownRenderer {
  const slots = fairSemaphore({
    slots: threads,
    maxWaiting: MAX_WAITING,
    maxWaitingEach: MAX_WAITING_EACH,
    maxWaitMs: MAX_WAIT_MS,
  });
  const idle: Worker[] = [];
  return {
    async render(task, { principal, network }) {
      const queue = principal ?? `anonymous ${network}`;
      const release = await slots.acquire({ queue, shares: [{ name: queue, max: Math.max(threads - 1, 1) }] });
      try {
        const worker = idle.pop() ?? (await startWorker());
        const rendered = await runIn(worker, task, maxRenderMs);
        idle.push(worker);
        if ("html" in rendered) return rendered.html;
        throw unprocessable("The text refers to long addresses too often, or leaves too many elements open");
      } finally {
        release();
      }
    },
    async close() {
      await Promise.all(idle.splice(0).map((worker) => worker.terminate()));
    },
  };
}

async function startWorker(): Promise<Worker> {
  const worker = new Worker(new URL("worker.ts", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  // One that is ended may report an error when nobody waits for it any more.
  worker.on("error", () => {});
  await messageOf(worker, MAX_START_MS);
  return worker;
}

/** Passes a task to a thread, which is ended unless it answers in time. */
async function runIn(worker: Worker, task: RenderTask, maxMs: number): Promise<Rendered> {
  worker.postMessage(task, []);
  try {
    return (await messageOf(worker, maxMs)) as Rendered;
  } catch (error) {
    throw isStopped(error) ? unprocessable("The text takes too long to render") : error;
  }
}

async function messageOf(worker: Worker, maxMs: number): Promise<unknown> {
  // A thread that waits for work does not keep the process alive.
  worker.ref();
  try {
    const [message] = await once(worker, "message", { signal: AbortSignal.timeout(maxMs) });
    worker.unref();
    return message;
  } catch (error) {
    void worker.terminate();
    throw error;
  }
}

/** Whether a thread was ended because it took too long or too much memory. */
const isStopped = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === "AbortError" || ("code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY"));
