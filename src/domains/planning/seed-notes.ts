import type { SeedStep } from "#db/seed.ts";
import { dice, forProjects, type SeedSize, word } from "#domains/foundation/seed.ts";
import { PEOPLE } from "#domains/identity/seed.ts";

/** As many comments as an item can have, and more records of changes than a list sorts. */
const MANY_COMMENTS = 5000;
const MANY_CHANGES = 15_000;

/**
 * Every second issue has three notes and every epic one; one in forty is internal, one in nine records a change. The
 * first issue and the first epic have as many as can be.
 */
export const seedNotes: SeedStep<SeedSize> = {
  name: "notes",
  tables: ["notes"],
  statements: forProjects(() => [
    { text: PEOPLE },
    { text: notesOn("issues", "issue_id", "i.id % 2 = 0", 3) },
    { text: notesOn("epics", "epic_id", "true", 1) },
    { text: manyOn("issues", "issue_id") },
    { text: manyOn("epics", "epic_id") },
  ]),
  clear: "truncate notes",
};

const NUMBER = "(i.id * 3 + k)";
const at = (k: string) => `i.created_at + ${k} * interval '47 minutes'`;
const AUTHOR = `1 + ${dice(NUMBER, 120)} % (select count(*) from people)`;

const notesOn = (items: string, column: string, which: string, count: number) => `
  insert into notes (${column}, author_id, created_at, updated_at, system, internal, body)
  select i.id, u.id, ${at("k")}, ${at("k")}, ${dice(NUMBER, 121)} % 9 = 0, ${dice(NUMBER, 121)} % 40 = 1,
    case when ${dice(NUMBER, 121)} % 9 = 0 then 'closed'
      else 'The ' || ${word(NUMBER, 122)} || ' is near the ' || ${word(NUMBER, 123)} end
  from ${items} i cross join generate_series(1, ${count}) k join people u on u.n = ${AUTHOR}
  where ${which} order by i.id, k`;

const manyOn = (items: string, column: string) => `
  insert into notes (${column}, author_id, created_at, updated_at, system, internal, body)
  select i.id, i.author_id, ${at("k")}, ${at("k")}, k > ${MANY_COMMENTS}, k % 10 = 3 and k <= ${MANY_COMMENTS},
    case when k > ${MANY_COMMENTS} then case k % 2 when 0 then 'closed' else 'reopened' end else 'Sounding ' || k end
  from (select * from ${items} order by id limit 1) i
    cross join generate_series(1, ${MANY_COMMENTS + MANY_CHANGES}) k`;
