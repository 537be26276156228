const LINE = "-- include job engine\n";

/** The text of a migration, with a marker line replaced by the job engine's schema, which its package generates. */
export async function withIncluded(text: string): Promise<string> {
  if (!text.includes(LINE)) return text;
  const { getConstructionPlans } = await import("pg-boss");
  const plans = getConstructionPlans("jobs");
  // A migration already runs in a transaction with its own timeouts.
  const tables = plans.slice(plans.indexOf("CREATE SCHEMA"), plans.lastIndexOf("COMMIT;"));
  return text.replace(LINE, () => `${tables}\n`);
}
