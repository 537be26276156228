import { compare, ratio } from "./support/compare.ts";
import { type Figure, short } from "./support/figures.ts";
import type { Options } from "./support/options.ts";
import { pageStatement, repeated } from "./support/statements.ts";

const CONNECTIONS = 32;

/** A page of 20 users by keyset, beside bare Fastify that sends the same page from memory. */
export async function listUsers(options: Options): Promise<Figure[]> {
  const rounds = await compare(
    {
      path: "/api/v4/users?pagination=keyset&order_by=id&per_page=20",
      connections: [CONNECTIONS],
      script: (statements) => repeated(pageStatement(statements)),
    },
    options,
  );
  const rate = ratio(rounds, CONNECTIONS, ({ pgbench }, ours) => ours.perSecond / pgbench.perSecond);
  console.log(`${short(rate)} of the rate of pgbench with the page's SQL alone (reported, no goal)`);
  return [
    {
      about: "of bare Fastify's Node CPU",
      value: ratio(rounds, CONNECTIONS, (_, ours, bare) => ours.node / bare.node),
      bound: "at most",
      goal: 5,
    },
  ];
}
