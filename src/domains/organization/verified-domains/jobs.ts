import Type from "typebox";
import { defineJob } from "#jobs/define.ts";
import { domainsToCheck, recordChecks } from "./checks.ts";
import { recordOf } from "./names.ts";

/** Rechecks daily that the DNS records of verified domains still exist. */
export const recheckDomains = defineJob({
  name: "verified_domains.recheck",
  queue: "bulk",
  payload: Type.Object({}, { additionalProperties: false }),
  cron: "19 4 * * *",
  async run({ id, services, step, signal }) {
    for (;;) {
      const domains = await step(domainsToCheck);
      if (domains.length === 0) return;
      const checks = await Promise.all(
        domains.map(async (domain) => {
          const { name, value } = recordOf(domain);
          return { id: domain.id, found: (await services.dns.txt(name))?.includes(value) === true };
        }),
      );
      await step((tx) => recordChecks(tx, checks, id));
      signal.throwIfAborted();
    }
  },
});
