/** An LRU cache of facts about objects, which never change. */
export interface FactCache {
  /** Returns a known fact, or finds it out and remembers it; undefined is not remembered. */
  known(question: string, findOut: () => Promise<string | undefined>): Promise<string | undefined>;
}

export function factCache(maxFacts: number): FactCache {
  /** In order of last use. */
  const facts = new Map<string, string>();
  return {
    async known(question, findOut) {
      const found = facts.get(question) ?? (await findOut());
      if (found === undefined) return undefined;
      facts.delete(question);
      facts.set(question, found);
      if (facts.size > maxFacts) for (const oldest of facts.keys().take(1)) facts.delete(oldest);
      return found;
    },
  };
}
