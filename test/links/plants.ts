import type { Plant } from "#test/support/campaign.ts";

export const PLANTS: readonly Plant[] = [
  { name: "confidential issues are for everybody", right: "not i.confidential or", mistaken: "true or" },
  { name: "confidential epics are for everybody", right: "not e.confidential or", mistaken: "true or" },
  {
    name: "private projects are for everybody",
    right: "(p.visibility in (10, 20)",
    mistaken: "(p.visibility in (0, 10, 20)",
  },
  {
    name: "disabled issues are for members",
    right: `issues_access_level" <> 'disabled'`,
    mistaken: `issues_access_level" <> 'off'`,
  },
  { name: "a link is told from the wrong end", right: "target_id as other_id", mistaken: "source_id as other_id" },
  {
    name: "no circle is found",
    right: "union select l.target_id from blocked b",
    mistaken: "union select null from blocked b",
  },
  {
    name: "two requests may close a circle together",
    right: "pg_advisory_xact_lock(hashtextextended(",
    mistaken: "pg_sleep(0), (hashtextextended(",
  },
  {
    name: "two items may have two links",
    right: ", false) as linked",
    mistaken: ", false) and false as linked",
    setup: ["drop index issue_links_pair_taken", "drop index epic_links_pair_taken"],
  },
  { name: "hidden issues are counted", right: "i.state = 'opened'", mistaken: "i.state = 'opened' or true" },
];
