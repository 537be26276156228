const SETTING = "FAIRLEAD_DATABASE_URL";

/** Says in one sentence why a database cannot be used, and what to do; never with the password of its address. */
export function databaseProblem(error: unknown, url: string): string {
  const { host, port, user, database } = partsOf(url);
  const seen = problemOf(error);
  const place = host.startsWith("/") ? `in ${host}` : `at ${host}:${port}`;
  switch (codeOf(error)) {
    case "ECONNREFUSED":
    case "ENOENT":
      return `${SETTING}: no PostgreSQL answers ${place} (${seen}); start it, or correct the host and the port`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${SETTING}: the host ${host} cannot be found (${seen}); correct the host, or the DNS of this machine`;
    case "28P01":
    case "28000":
      return `${SETTING}: PostgreSQL ${place} refused the user ${user} (${seen}); correct the user and the password`;
    case "3D000":
      return `${SETTING}: ${seen} ${place}; create it, or correct the name (docs/guides/running.md)`;
    default:
      return `${SETTING}: the database ${database} ${place} cannot be used (${seen}); correct the setting, or look into the log of PostgreSQL`;
  }
}

/** What was seen, without the stack; an attempt at several addresses has one error for each. */
export function problemOf(error: unknown): string {
  if (error instanceof AggregateError) return [...new Set(error.errors.map(problemOf))].join(", ");
  return error instanceof Error && error.message !== "" ? error.message : String(codeOf(error) ?? error);
}

const codeOf = (error: unknown) => (error as { code?: unknown } | undefined)?.code;

function partsOf(url: string) {
  const { hostname = "", port = "", username = "", pathname = "" } = URL.parse(url) ?? {};
  return {
    host: decodeURIComponent(hostname) || "localhost",
    port: port || "5432",
    user: decodeURIComponent(username),
    database: decodeURIComponent(pathname.slice(1)),
  };
}
