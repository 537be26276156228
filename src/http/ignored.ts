import { TOKEN_PREFIX } from "#lib/secrets.ts";
import type { RawSet } from "./params/raw.ts";
import { TOKEN_PARAMETERS } from "./request.ts";

const MAX_NAMES = 10;
const MAX_BYTES = 256;

/** Parameters of the kernel, which every endpoint has. */
const EVERYWHERE: readonly string[] = [...TOKEN_PARAMETERS, "sudo"];

/** Whether this looks like the name of a parameter; anything else may be a value, and is not repeated. */
const isName = (text: string) => /^[a-z][\w-]{0,63}$/i.test(text) && !text.includes(TOKEN_PREFIX);

/** Returns a function that finds the parameters of a request that an endpoint does not have, as many as are named. */
export function unknownParameters(known: readonly string[]): (raw: RawSet) => string[] {
  const names = new Set([...known, ...EVERYWHERE]);
  return (raw) => {
    const unknown: string[] = [];
    for (const name of Object.keys(raw)) {
      if (names.has(name) || !isName(name)) continue;
      unknown.push(name);
      if (unknown.length === MAX_NAMES) break;
    }
    return unknown;
  };
}

/** The value of `X-Ignored-Parameters`, as many names as fit. */
export function ignoredHeader(names: ReadonlySet<string>): string {
  const shown = [...names].slice(0, MAX_NAMES);
  while (shown.join(", ").length > MAX_BYTES) shown.pop();
  return shown.join(", ");
}
