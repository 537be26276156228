/** What was found out of things by their ids, which never change: the last so many. */
export interface Facts {
  known(question: string, findOut: () => Promise<string | undefined>): Promise<string | undefined>;
}

export function keepFacts(most: number): Facts {
  /** In the order of their last use. */
  const facts = new Map<string, string>();
  return {
    async known(question, findOut) {
      const found = facts.get(question) ?? (await findOut());
      if (found === undefined) return undefined;
      facts.delete(question);
      facts.set(question, found);
      if (facts.size > most) for (const oldest of facts.keys().take(1)) facts.delete(oldest);
      return found;
    },
  };
}
