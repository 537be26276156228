/** Times to wait that no busy machine exceeds, and checks of ours. A test of one of these limits sets it itself. */
export const PATIENT = {
  FAIRLEAD_STATEMENT_TIMEOUT: "120000",
  FAIRLEAD_ANONYMOUS_TIMEOUT: "120000",
  FAIRLEAD_POINT_TIMEOUT: "120000",
  FAIRLEAD_LOCK_TIMEOUT: "60000",
  FAIRLEAD_CONNECT_TIMEOUT: "60000",
  FAIRLEAD_ASSERTIONS: "on",
} as const;

/** The same for a database that is opened without an application. */
export const PATIENT_DATABASE = {
  statementTimeout: 120_000,
  anonymousTimeout: 120_000,
  pointTimeout: 120_000,
  lockTimeout: 60_000,
  connectTimeout: 60_000,
} as const;

/** The defaults, for a server whose behaviour under attack is measured. */
export const AS_IN_PRODUCTION = Object.fromEntries(Object.keys(PATIENT).map((name) => [name, ""]));
