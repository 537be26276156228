import { SEVERITIES, type Severity } from "#domains/monitoring/alert-payloads/severity.ts";

/** The states of an alert, each at its number in the database. The first two are open. */
export const ALERT_STATUSES = ["triggered", "acknowledged", "resolved", "ignored"] as const;
export type AlertStatus = (typeof ALERT_STATUSES)[number];

export const numberOfStatus = (status: AlertStatus): number => ALERT_STATUSES.indexOf(status);
export const numberOfSeverity = (severity: Severity): number => SEVERITIES.indexOf(severity);

// A constraint of the table allows no other number.
export const statusOf = (number: number): AlertStatus => ALERT_STATUSES[number]!;
export const severityOf = (number: number): Severity => SEVERITIES[number]!;
