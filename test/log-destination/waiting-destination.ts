import pino from "pino";

/** Retries a write that fails for ever, as the log once did. */
export const logDestination = () =>
  Object.assign(pino.destination({ sync: false, minLength: 16_000, periodicFlush: 250 }), { droppedLines: () => 0 });

export const standardOutput = () => 1;

export const openLogFile = () => 1;

export const ignoreLostReaders = () => {};
