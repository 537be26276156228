import type { SeedStep } from "#db/seed.ts";
import { dice, forProjects, type SeedSize } from "#domains/foundation/seed.ts";

/**
 * Every second issue and every epic is linked to a later one, and one of each to as many as can be. Links lead to higher
 * ids, so that those that block form no circle.
 */
export const seedLinks: SeedStep<SeedSize> = {
  name: "links",
  tables: ["issue_links", "epic_links"],
  statements: forProjects(() => [
    { text: linksOf("issues", 2, 97) },
    { text: linksOf("epics", 1, 13) },
    { text: mostOf("issues") },
    { text: mostOf("epics") },
    { text: "analyze issue_links, epic_links" },
  ]),
  clear: "truncate issue_links, epic_links",
};

const TABLES = { issues: "issue_links", epics: "epic_links" } as const;
const TYPES = "(array['relates_to','blocks'])";
const AT = "i.created_at + interval '1 hour'";

const linksOf = (items: keyof typeof TABLES, each: number, distance: number) => `
  insert into ${TABLES[items]} (source_id, target_id, link_type, created_at, updated_at)
  select i.id, t.id, ${TYPES}[1 + ${dice("i.id", 110)} % 2], ${AT}, ${AT}
  from ${items} i join ${items} t on t.id = i.id + 1 + ${dice("i.id", 111)} % ${distance}
  where i.id % ${each} = 0 order by i.id`;

/**
 * Links the second item to others far from it, until it has 100. The first has the most notes: a request for one item
 * that had both would hide what either costs.
 */
const mostOf = (items: keyof typeof TABLES) => `
  insert into ${TABLES[items]} (source_id, target_id, link_type, created_at, updated_at)
  select i.id, t.id, ${TYPES}[1 + t.id % 2], ${AT}, ${AT}
  from (select * from ${items} order by id offset 1 limit 1) i
    cross join lateral (select id from ${items} where id > i.id + 1000 order by id limit 99) t
  on conflict do nothing`;
