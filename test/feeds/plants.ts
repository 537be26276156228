import type { Plant } from "#test/support/campaign.ts";

/** Events of which some are not recorded. */
const unrecorded = (name: string, which: string): Plant => ({
  name,
  right: "select",
  mistaken: "select",
  setup: [
    "create function leave_out() returns trigger language plpgsql as $$ begin return null; end $$",
    `create trigger leave_out before insert on events for each row when (${which}) execute function leave_out()`,
  ],
});

export const PLANTS: readonly Plant[] = [
  { name: "confidential issues are for everybody", right: "(not i.confidential or", mistaken: "(true or" },
  { name: "confidential issues are not for their author", right: "(i.author_id = ", mistaken: "(0 = " },
  { name: "confidential epics are for everybody", right: "(not e.confidential or", mistaken: "(true or" },
  {
    name: "comments on confidential epics are for everybody",
    right: "((not e.confidential and",
    mistaken: "((true and",
  },
  { name: "internal comments are for everybody", right: "and not note.internal) or", mistaken: "and true) or" },
  {
    name: "internal comments on merge requests are for everybody",
    right: "(not note.internal or",
    mistaken: "(true or",
  },
  {
    name: "private projects are for everybody",
    right: "(p.visibility in (10, 20)",
    mistaken: "(p.visibility in (0, 10, 20)",
  },
  {
    name: "private groups are for everybody",
    right: "(n.visibility in (10, 20)",
    mistaken: "(n.visibility in (0, 10, 20)",
  },
  {
    name: "a disabled feature is for members",
    right: `_access_level" <> 'disabled'`,
    mistaken: `_access_level" <> 'off'`,
  },
  {
    name: "a feature for members is for everybody",
    right: `_access_level" = 'enabled'`,
    mistaken: `_access_level" <> 'disabled'`,
  },
  { name: "deleted issues stay", right: "i.id = ev.target_id", mistaken: "i.id > 0" },
  { name: "deleted merge requests stay", right: "mr.id = ev.target_id", mistaken: "mr.id > 0" },
  {
    name: "deleted comments stay",
    right: "where note.id = ev.target_id and case",
    mistaken: "where note.id > 0 and case",
  },
  {
    name: "comments in discussions of merge requests are found as comments",
    right: "note.discussion_id is not null)",
    mistaken: "note.discussion_id is null)",
  },
  unrecorded("milestones that closed are not recorded", "new.target_type = 'Milestone' and new.action = 3"),
  unrecorded("members who left are not recorded", "new.action = 9"),
  unrecorded("one push in ten is not recorded", "new.action = 5 and new.id % 10 = 0"),
];
