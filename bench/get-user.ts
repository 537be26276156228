import { compare, ratio } from "./support/compare.ts";
import type { Figure } from "./support/figures.ts";
import type { Options } from "./support/options.ts";
import { digestInSql } from "./support/seeded.ts";
import { callerStatement, scriptOf, withoutColons } from "./support/statements.ts";

/** `GET /user` by token with everything on, beside its one statement in pgbench and beside bare Fastify. */
export async function getUser(options: Options): Promise<Figure[]> {
  const rounds = await compare(
    {
      path: "/api/v4/user",
      connections: [32, 128],
      script(statements, { tokens }) {
        const { text } = callerStatement(statements);
        // The product looks up all tokens of one turn of the event loop at once; this script looks up one.
        const one = withoutColons(text).replace(/= any\s*\(\$1[^)]*\)/i, `= ${digestInSql(":number")}`);
        if (!one.includes(":number")) throw new Error(`No list of tokens in the statement:\n${text}`);
        return scriptOf([`\\set number random(1, ${tokens})`], one);
      },
    },
    options,
  );
  const worst = (of: Parameters<typeof ratio>[2]) => Math.max(ratio(rounds, 32, of), ratio(rounds, 128, of));
  return [
    {
      about: "of pgbench's rate at 32 connections",
      value: ratio(rounds, 32, ({ pgbench }, ours) => ours.perSecond / pgbench.perSecond),
      bound: "at least",
      goal: 0.4,
    },
    {
      about: "at 128",
      value: ratio(rounds, 128, ({ pgbench }, ours) => ours.perSecond / pgbench.perSecond),
      bound: "at least",
      goal: 0.45,
    },
    {
      about: "of bare Fastify's Node CPU",
      value: worst((_, ours, bare) => ours.node / bare.node),
      bound: "at most",
      goal: 3.3,
    },
    {
      about: "of pgbench's PostgreSQL CPU",
      value: worst(({ pgbench }, ours) => ours.postgres / pgbench.postgres),
      bound: "at most",
      goal: 0.5,
    },
  ];
}
