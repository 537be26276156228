/** The signal that makes an instrumented server collect all its garbage. */
export const COLLECT = "SIGUSR2";
