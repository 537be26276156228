import { runCampaign } from "#test/support/campaign.ts";
import { PLANTS } from "./plants.ts";
import { runSession } from "./session.ts";

/**
 * Monitoring tools report and end alerts at the same time through two processes, while people acknowledge, ignore and
 * resolve them: at most one alert of a fingerprint is unresolved, every acknowledged report is counted once, what ends
 * and is then reported again is a new alert, and no two alerts of a project share a number. A plain model says how many
 * alerts there are and in which state.
 */
await runCampaign({ name: "grouping", plants: PLANTS, run: runSession });
