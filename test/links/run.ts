import { runCampaign } from "#test/support/campaign.ts";
import { PLANTS } from "./plants.ts";
import { runSession } from "./session.ts";

/**
 * Callers with different rights create, delete and read links at the same time, while items become confidential and
 * projects private: a link is there for both ends or for none, never twice, links that block form no circle, and no
 * answer has the title, the id or the count of something hidden. A plain model says what every answer must be.
 */
await runCampaign({ name: "links", plants: PLANTS, run: runSession });
