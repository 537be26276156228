const LINE = "-- include job engine\n";

/** The text of a migration; a line of its own asks for the tables of the job engine, which its package prints itself. */
export async function withIncluded(text: string): Promise<string> {
  if (!text.includes(LINE)) return text;
  const { getConstructionPlans } = await import("pg-boss");
  const plans = getConstructionPlans("jobs");
  // A migration is a transaction already, with limits of its own.
  const tables = plans.slice(plans.indexOf("CREATE SCHEMA"), plans.lastIndexOf("COMMIT;"));
  return text.replace(LINE, () => `${tables}\n`);
}
