import { runCampaign } from "#test/support/campaign.ts";
import { PLANTS } from "./plants.ts";
import { runSession } from "./session.ts";

/**
 * People with different rights work, join and leave, while items become confidential and projects, features and profiles
 * private: every feed has exactly the events that a plain model says, and no title or text of something hidden.
 */
await runCampaign({ name: "feeds", plants: PLANTS, run: runSession });
