import { type Agent, get } from "node:http";
import { median } from "./figures.ts";

const PAGES_PER_ROUND = 50;

/** Milliseconds of the two pages, and their ratio. */
export interface Times {
  readonly first: number;
  readonly deep: number;
  readonly ratio: number;
}

/** The rows of a page, which has to be full. */
export function pageOf<Row>(agent: Agent, url: string, token: string, perPage: number): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { "private-token": token } }, (answer) => {
      let body = "";
      answer.setEncoding("utf8").on("data", (text: string) => (body += text));
      answer.on("end", () => {
        const page = JSON.parse(body) as Row[];
        if (answer.statusCode === 200 && page.length === perPage) resolve(page);
        else reject(new Error(`${url} answered ${answer.statusCode} with ${page.length} rows`));
      });
    }).on("error", reject);
  });
}

/** Requests two pages in turn, so that both meet the machine in the same state. */
export async function alternate(
  first: () => Promise<unknown>,
  deep: () => Promise<unknown>,
  rounds: number,
): Promise<Times> {
  const seen: Times[] = [];
  // The first round warms up both pages and does not count.
  for (let round = 0; round <= rounds; round++) {
    const times: { first: number; deep: number }[] = [];
    while (times.length < PAGES_PER_ROUND) times.push({ first: await timed(first), deep: await timed(deep) });
    const [one, other] = [median(times.map((time) => time.first)), median(times.map((time) => time.deep))];
    if (round > 0) seen.push({ first: one, deep: other, ratio: other / one });
  }
  const middle = (name: keyof Times) => median(seen.map((times) => times[name]));
  return { first: middle("first"), deep: middle("deep"), ratio: middle("ratio") };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
