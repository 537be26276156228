import { parseArgs } from "node:util";
import { runDamage } from "./damage.ts";
import { runKills } from "./kills.ts";
import { runLate } from "./late.ts";
import { runLoad } from "./load.ts";

/** Storage moves that are killed, crowded, repeated, and made from damaged to full disks. */
const { values } = parseArgs({
  options: {
    times: { type: "string", default: "1" },
    moves: { type: "string", default: "30" },
    late: { type: "string", default: "10" },
    only: { type: "string" },
  },
});
const [times, moves, late] = [values.times, values.moves, values.late].map(Number) as [number, number, number];
const PARTS = {
  damage: () => runDamage(),
  late: () => runLate(late),
  load: () => runLoad(moves),
  kills: () => runKills(times),
};

let passed = 0;
const problems: string[] = [];
for (const [name, part] of Object.entries(PARTS)) {
  if (values.only !== undefined && values.only !== name) continue;
  const result = await part();
  passed += result.passed;
  problems.push(...result.problems);
}
for (const problem of problems.slice(0, 20)) console.log(`✖ ${problem}`);
console.log(`moves: ${passed} passed, ${problems.length} failed`);
process.exit(problems.length === 0 && passed > 0 ? 0 : 1);
