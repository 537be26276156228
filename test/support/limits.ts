/** Times to wait that no busy machine exceeds. A test of one of these limits sets it itself. */
export const PATIENT = {
  FAIRLEAD_STATEMENT_TIMEOUT: "120000",
  FAIRLEAD_LOCK_TIMEOUT: "60000",
  FAIRLEAD_CONNECT_TIMEOUT: "60000",
} as const;

/** The defaults, for a server whose behaviour under attack is measured. */
export const AS_IN_PRODUCTION = Object.fromEntries(Object.keys(PATIENT).map((name) => [name, ""]));
