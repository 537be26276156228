/** A limit that is removed by changing the source as the server loads it. */
export interface Plant {
  readonly name: string;
  /** The attack that must have an effect without the limit. */
  readonly attack: string;
  readonly changes: readonly Change[];
}

interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const PLANTS: readonly Plant[] = [
  {
    name: "the share of a consumer in git slots",
    attack: "clones that nobody reads",
    changes: [
      { file: "src/git/slots.ts", from: "{ name: queue, max: partOf(slots, 4) }", to: "{ name: queue, max: slots }" },
      { file: "src/git/slots.ts", from: "max: partOf(slots, 2) }", to: "max: slots }" },
    ],
  },
  {
    name: "the wait for the first packet over SSH",
    attack: "silent SSH sessions",
    changes: [
      {
        file: "src/ssh/session.ts",
        from: "const first = await firstPacket(wire.input);",
        to: 'await repository.uploadPack({ mode: "session", ...call });\nconst first = await firstPacket(wire.input);',
      },
    ],
  },
  {
    name: "the memory limit of git",
    attack: "blaming a huge ancestor",
    changes: [{ file: "src/git/process.ts", from: 'ulimit -d "$0" 2>/dev/null; ', to: "" }],
  },
  {
    name: "the size of compared files",
    attack: "huge diffs",
    changes: [
      {
        file: "src/git/settings.ts",
        from: "MAX_COMPARED_FILE_BYTES = 2 * 1024",
        to: "MAX_COMPARED_FILE_BYTES = 512 * 1024",
      },
    ],
  },
  {
    name: "the budget of answers",
    attack: "listing long messages",
    changes: [
      {
        file: "src/domains/code/repository/answer-budget.ts",
        from: "MAX_ANSWER_BYTES = 4 * 1024",
        to: "MAX_ANSWER_BYTES = 4096 * 1024",
      },
      {
        file: "src/domains/code/commits/list.ts",
        from: "messageBytes: MAX_LISTED_MESSAGE_BYTES, allows: readAllowance()",
        to: "",
      },
    ],
  },
  {
    name: "the size of objects",
    attack: "a huge file name",
    changes: [
      { file: "src/git/objects/batch.ts", from: "MAX_BYTES = 16 * 1024", to: "MAX_BYTES = 1024 * 1024" },
      { file: "src/git/slots.ts", from: "SHORT_MEMORY_BYTES = 256 *", to: "SHORT_MEMORY_BYTES = 4096 *" },
    ],
  },
  {
    name: "the memory for answers",
    attack: "JSON that nobody reads",
    changes: [
      { file: "src/lib/memory-budget.ts", from: "holds === 0 || holds + bytes <= max", to: "holds + bytes + max > 0" },
    ],
  },
  {
    name: "the lowest transfer rate",
    attack: "JSON that nobody reads for a minute",
    changes: [{ file: "src/lib/transfer-rate.ts", from: "windowMs: 60_000", to: "windowMs: 6_000_000" }],
  },
  {
    name: "the places of a segment",
    attack: "a path with many places",
    changes: [
      { file: "src/access/paths.ts", from: "MAX_PLACES = 4", to: "MAX_PLACES = 1e9" },
      { file: "src/access/paths.ts", from: "      union\n", to: "      union all\n" },
      { file: "src/db/database.ts", from: "statementTimeout: pointTimeout", to: "statementTimeout" },
    ],
  },
  {
    name: "the number of labels of an item",
    attack: "labels of an item",
    changes: [
      { file: "src/domains/planning/labels/of-items.ts", from: ".length > MAX_LABELS)", to: ".length > 1e9)" },
      { file: "src/domains/planning/labels/views.ts", from: "limit ${sql.lit(MAX_LABELS)}", to: "" },
    ],
  },
  {
    name: "the length in which tasks are counted",
    attack: "tasks in long descriptions",
    changes: [{ file: "src/domains/planning/items/tasks.ts", from: ".slice(0, MAX_UNCOUNTED_LENGTH)", to: "" }],
  },
  {
    name: "the budget of descriptions",
    attack: "long descriptions",
    changes: [
      {
        file: "src/domains/conversation/items/descriptions.ts",
        from: "MAX_TEXT_BYTES = 4 *",
        to: "MAX_TEXT_BYTES = 4096 *",
      },
    ],
  },
  {
    name: "the length in which mentions are looked for",
    attack: "mentions in long notes",
    changes: [
      {
        file: "src/domains/attention/notifications/mentions.ts",
        from: "MAX_MENTIONING_LENGTH = 64 *",
        to: "MAX_MENTIONING_LENGTH = 1024 *",
      },
    ],
  },
  {
    name: "the one connection of a transaction",
    attack: "issues created at once",
    changes: [
      {
        file: "src/domains/planning/issues/new-issue.ts",
        from: "surroundingsOfNew(databases, db, draft, write)",
        to: "surroundingsOfNew(databases, databases.write, draft, write)",
      },
      { file: "src/db/pool.ts", from: "shares: [\n", to: "shares: true ? [] : [\n" },
    ],
  },
  {
    name: "the turns and shares of connections",
    attack: "costly filters",
    changes: [
      { file: "src/db/pool.ts", from: "principal ?? `anonymous ${network}`", to: '"everybody"' },
      { file: "src/db/pool.ts", from: "shares: [\n", to: "shares: true ? [] : [\n" },
      { file: "src/db/pool.ts", from: "(reads && caller.principal === undefined ? anonymous : main)", to: "main" },
    ],
  },
  {
    name: "the queue of probes",
    attack: "probes of a silent host",
    changes: [{ file: "src/domains/infrastructure/clusters/jobs.ts", from: '"outbound"', to: '"default"' }],
  },
  {
    name: "the queue of news",
    attack: "mentions of many people",
    changes: [
      {
        file: "src/domains/attention/notifications/notify.ts",
        from: '{ ...retried, queue: "notifications" }',
        to: "{ ...retried }",
      },
    ],
  },
  {
    name: "the count of key exchanges",
    attack: "key exchanges before signing in",
    changes: [
      {
        file: "src/ssh/packet-limits.ts",
        from: "return type !== KEXINIT && ++anonymousPackets",
        to: "return ++anonymousPackets / 1e6",
      },
    ],
  },
];

/** A plant that no longer fits the source would prove nothing, so it is an error. */
export function plantedSource({ name, changes }: Plant, url: string, source: string): string {
  let planted = source;
  for (const { file, from, to } of changes.filter(({ file }) => url.endsWith(`/${file}`))) {
    if (planted.split(from).length !== 2) throw new Error(`the plant ${name} does not fit ${file} exactly once`);
    planted = planted.replace(from, () => to);
  }
  return planted;
}
