/** The level of the API family that we are compatible with; clients compare it. */
export const API_LEVEL = "18.2.0";

/** Our own release. */
export const RELEASE = "0.1.0";
