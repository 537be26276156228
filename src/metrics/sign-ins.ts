import type { Logger } from "pino";
import { Counter, type Registry } from "prom-client";
import { SIGN_IN_KINDS, type SignInRefusal } from "#lib/refusal.ts";

/** A refused sign-in; further fields are for the log. */
interface RefusedSignIn extends SignInRefusal {
  readonly ip: string | undefined;
  readonly [field: string]: unknown;
}

export type ReportRefusedSignIn = (refused: RefusedSignIn) => void;

/** Logs and counts refused sign-ins of every kind. Filters for fail2ban rely on the order of the first fields. */
export function refusedSignIns(registry: Registry, log: Logger): ReportRefusedSignIn {
  const counter = new Counter({
    name: "fairlead_sign_ins_refused_total",
    help: "Sign-ins that were refused, by the kind of credential",
    labelNames: ["kind"],
    registers: [registry],
  });
  for (const kind of SIGN_IN_KINDS) counter.inc({ kind }, 0);
  return ({ kind, ip, reason, ...fields }) => {
    counter.inc({ kind });
    log.warn({ kind, ip, reason, ...fields }, "sign-in refused");
  };
}
