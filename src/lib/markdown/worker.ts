import { parentPort } from "node:worker_threads";
import { renderMarkdown, type RenderTask } from "./render.ts";

// The thread of a renderer: it says when it is ready, and answers each text by its HTML.
parentPort?.on("message", (task: RenderTask) => parentPort?.postMessage(renderMarkdown(task), []));
parentPort?.postMessage("ready", []);
