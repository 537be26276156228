import { reasonOf, Refusal } from "#lib/refusal.ts";

/** Whether an error is about the arguments of a command, as Node's parser throws it. */
export const isOfArguments = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");

/** What is wrong about the arguments, and where to read what a command takes. */
export function argumentProblem(command: string, { message }: Error): string {
  const [problem] = message.split(". ");
  return `${problem}; 'fairlead ${command} --help' lists what it takes`;
}

/** An error in one line. */
export function textOf(error: unknown): string {
  if (!(error instanceof Refusal)) return error instanceof Error ? error.message : String(error);
  const problems = Object.entries(error.details.fields ?? {}).map(([field, texts]) => `${field} ${texts.join(", ")}`);
  return problems.length > 0 ? problems.join("; ") : reasonOf(error);
}

const FRAMES = ["|", "/", "-", "\\"];
const QUIET_MS = 2000;

/** Runs the work and shows its progress once it has taken two seconds; by `say` if standard error is no terminal. */
export async function withProgress<T>(
  what: string,
  work: (tell: (state: string) => void) => Promise<T>,
  say: (line: string) => void,
): Promise<T> {
  const began = Date.now();
  const { stderr } = process;
  let state = "";
  let shown = 0;
  const show = () => {
    const seconds = Math.floor((Date.now() - began) / 1000);
    const line = `${what} ${state} (${seconds} s)`.replaceAll("  ", " ");
    if (stderr.isTTY) stderr.write(`\r\u001b[K${FRAMES[shown % FRAMES.length]} ${line}`);
    else if (shown % 40 === 0) say(line);
    shown++;
  };
  let timer: NodeJS.Timeout | undefined;
  const quiet = setTimeout(() => {
    show();
    timer = setInterval(show, 250);
  }, QUIET_MS);
  try {
    return await work((next) => (state = next));
  } finally {
    clearTimeout(quiet);
    clearInterval(timer);
    if (shown > 0 && stderr.isTTY) stderr.write("\r\u001b[K");
  }
}
