import type { Consumer } from "./consumer.ts";

/** Bytes that are held in memory for a consumer. */
export interface Charge {
  resize(bytes: number): void;
  release(): void;
}

/** Counts memory of the process that is held for each principal and each network. */
export interface MemoryBudget {
  /** Whether this many more bytes fit every bound; a consumer that holds nothing may always have one answer. */
  hasRoom(consumer: Consumer, bytes: number): boolean;
  charge(consumer: Consumer, bytes: number): Charge;
}

/** The fraction of the budget that one consumer may hold. */
const SHARE_OF_ONE_CONSUMER = 1 / 4;

export function memoryBudget(maxBytes: number): MemoryBudget {
  const maxPerConsumer = maxBytes * SHARE_OF_ONE_CONSUMER;
  const held = new Map<string, number>();
  let total = 0;

  const add = (key: string, bytes: number) => {
    const sum = (held.get(key) ?? 0) + bytes;
    if (sum === 0) held.delete(key);
    else held.set(key, sum);
  };
  const fits = (holds: number, bytes: number, max: number) => holds === 0 || holds + bytes <= max;

  return {
    hasRoom: (consumer, bytes) =>
      fits(total, bytes, maxBytes) && keysOf(consumer).every((key) => fits(held.get(key) ?? 0, bytes, maxPerConsumer)),
    charge(consumer, bytes) {
      const keys = keysOf(consumer);
      let charged = 0;
      const resize = (to: number) => {
        for (const key of keys) add(key, to - charged);
        total += to - charged;
        charged = to;
      };
      resize(bytes);
      return { resize, release: () => resize(0) };
    },
  };
}

const keysOf = ({ principal, network }: Consumer): string[] =>
  principal === undefined ? [network] : [principal, network];
