/** Words for the person at the terminal; what machines read goes to the log. */
export const print = (line: string) => void process.stdout.write(`${line}\n`);

/** Says what went wrong in one line and ends with 1. */
export function fail(error: unknown) {
  process.stderr.write(`fairlead: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

const FRAMES = ["|", "/", "-", "\\"];
const PATIENCE = 2000;

/** Does the work and, when it takes more than two seconds, shows that it goes on and how far it is. */
export async function withProgress<T>(what: string, work: (tell: (state: string) => void) => Promise<T>): Promise<T> {
  const began = Date.now();
  const { stderr } = process;
  let state = "";
  let shown = 0;
  const show = () => {
    const seconds = Math.floor((Date.now() - began) / 1000);
    const line = `${what} ${state} (${seconds} s)`.replaceAll("  ", " ");
    if (stderr.isTTY) stderr.write(`\r\u001b[K${FRAMES[shown % FRAMES.length]} ${line}`);
    else if (shown % 40 === 0) stderr.write(`${line}\n`);
    shown++;
  };
  let timer: NodeJS.Timeout | undefined;
  const patience = setTimeout(() => {
    show();
    timer = setInterval(show, 250);
  }, PATIENCE);
  try {
    return await work((next) => (state = next));
  } finally {
    clearTimeout(patience);
    clearInterval(timer);
    if (shown > 0 && stderr.isTTY) stderr.write("\r\u001b[K");
  }
}
