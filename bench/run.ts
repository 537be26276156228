import { alerts } from "./alerts.ts";
import { clone } from "./clone.ts";
import { getUser } from "./get-user.ts";
import { idle } from "./idle.ts";
import { iids } from "./iids.ts";
import { jobs } from "./jobs.ts";
import { keysetOfIssues } from "./keyset-issues.ts";
import { keyset } from "./keyset.ts";
import { listUsers } from "./list-users.ts";
import { moves } from "./moves.ts";
import { signIn } from "./sign-in.ts";
import { startup } from "./startup.ts";
import { type Figure, goalOf, isMet, shown, summary } from "./support/figures.ts";
import { type Options, readOptions } from "./support/options.ts";

const BENCHES: Readonly<Record<string, (options: Options) => Promise<Figure[]>>> = {
  startup,
  idle,
  iids,
  jobs,
  keyset,
  "keyset-issues": keysetOfIssues,
  "get-user": getUser,
  "list-users": listUsers,
  "sign-in": signIn,
  clone,
  moves,
  alerts,
};

const { names, options } = readOptions(process.argv.slice(2));
const [name = "", ...more] = names;
const bench = BENCHES[name];
if (!bench || more.length > 0) {
  console.error(
    "Usage: npm run bench -- NAME [--rounds 5] [--seconds N] [--users 1m] [--issues 2m] [--only PART] [--report]",
  );
  console.error(`NAME is one of ${Object.keys(BENCHES).join(", ")}`);
  process.exitCode = 2;
} else {
  const figures = await bench(options);
  const missed = options.report ? [] : figures.filter((each) => !isMet(each));
  for (const figure of missed) console.log(`short: ${shown(figure)}, not ${goalOf(figure)}`);
  console.log(summary(name, figures));
  process.exitCode = missed.length === 0 ? 0 : 1;
}
