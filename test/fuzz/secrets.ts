import { type Answer, headerOf } from "./client.ts";

/** Texts that must not be told, by what they are. */
export type Kinds = Readonly<Record<string, readonly string[]>>;

/** A page that a mailed link leads to holds the link's secret, for the form that is sent next. */
export const LINKS = "a mailed link";
const MADE = "a secret that another answer made";
const MAX_REMEMBERED = 50;

/** Secrets that no log line may contain, and no response except the one that creates them. */
export class Secrets {
  readonly #known: readonly (readonly [kind: string, texts: readonly string[]])[];
  readonly #made: string[] = [];

  constructor(kinds: Kinds) {
    this.#known = Object.entries(kinds);
  }

  /** The kind of secret in a text, if there is one. */
  toldBy(text: string, isPage = false): string | undefined {
    for (const [kind, texts] of this.#known) {
      if (!(isPage && kind === LINKS) && texts.some((secret) => text.includes(secret))) return kind;
    }
    return this.#made.some((secret) => text.includes(secret)) ? MADE : undefined;
  }

  /** Remembers the newest secrets of responses: sessions, second factors and recovery codes. */
  learn(answer: Answer) {
    const cookie = /^fairlead_session=([\w-]+)/.exec(headerOf(answer, "set-cookie") ?? "")?.[1];
    const text = answer.body.toString("latin1");
    const [, codes = ""] = /"recovery_codes":\[([^\]]*)\]/.exec(text) ?? [];
    this.#made.push(
      ...[cookie, headerOf(answer, "x-csrf-token")].filter((secret) => secret !== undefined),
      ...[...text.matchAll(/"secret":"(\w+)"/g)].map(([, secret = ""]) => secret),
      ...codes.split(",").flatMap((code) => /"(.+)"/.exec(code)?.[1] ?? []),
    );
    this.#made.splice(0, this.#made.length - MAX_REMEMBERED);
  }
}
