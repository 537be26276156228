/** What a migration may include by a line of its own, for the statements of a package that the package itself prints. */
const INCLUDED: Readonly<Record<string, () => Promise<string>>> = {
  "job engine": async () => {
    const { getConstructionPlans } = await import("pg-boss");
    return withoutTransaction(getConstructionPlans("jobs"));
  },
};

/** The text of a migration with what it includes. */
export async function withIncluded(text: string): Promise<string> {
  let whole = text;
  for (const [name, print] of Object.entries(INCLUDED)) {
    const line = `-- include ${name}\n`;
    if (whole.includes(line)) whole = whole.replace(line, `${(await print()).replaceAll("$", "$$$$")}\n`);
  }
  return whole;
}

// A migration is a transaction already, with limits of its own.
const withoutTransaction = (text: string) => text.slice(text.indexOf("CREATE SCHEMA"), text.lastIndexOf("COMMIT;"));
