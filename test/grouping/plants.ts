import type { Plant } from "#test/support/campaign.ts";

const WITHOUT_INDEX = ["drop index alerts_unresolved_fingerprint"];

/** Defects in how alerts are written, each of which must be noticed. */
export const PLANTS: readonly Plant[] = [
  {
    name: "resolved alerts are found like unresolved ones",
    right: "and a.fingerprint = i.fingerprint and a.status <> 2",
    mistaken: "and a.fingerprint = i.fingerprint",
  },
  { name: "alerts of other projects are found", right: "on a.project_id = i.project_id and", mistaken: "on" },
  { name: "equal reports of a batch count once", right: "a.event_count + i.reports", mistaken: "a.event_count + 1" },
  {
    name: "a report that finds another process's alert is not counted",
    right: "a.event_count + excluded.event_count",
    mistaken: "a.event_count",
  },
  {
    name: "a recovery leaves the alert open",
    right: "set status = 2, ended_at = coalesce(i.ended_at, now())",
    mistaken: "set status = 0",
  },
  { name: "a recovery creates an alert", right: "where not i.resolves and not exists", mistaken: "where not exists" },
  {
    name: "a repeat reopens what somebody ignored",
    right: "a.event_count + i.reports,",
    mistaken: "a.event_count + i.reports, status = 0,",
  },
  {
    name: "every new alert of a batch has the same number",
    right: "c.last_iid - f.total + f.turn",
    mistaken: "c.last_iid",
    setup: ["drop index alerts_iid_taken"],
  },
  {
    name: "two processes create the same alert",
    right: `on conflict (project_id, fingerprint) where status <> 2
      do update set event_count = a.event_count + excluded.event_count, updated_at = now()`,
    mistaken: "",
    setup: WITHOUT_INDEX,
  },
];
