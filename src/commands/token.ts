import { parseArgs } from "node:util";
import { actingUserByIdOrName } from "#access/acting-users.ts";
import { type Scope, SCOPES } from "#access/scopes.ts";
import { readConfig } from "#config.ts";
import { createToken } from "#domains/identity/tokens/actions.ts";
import { targetOf } from "#domains/identity/tokens/handlers.ts";
import { openLog, openServices } from "#services.ts";
import { auditCommand } from "./audit.ts";
import { withDatabase } from "./database.ts";
import type { Terminal } from "./terminal.ts";

const USAGE = "usage: fairlead token create --user NAME [--name TEXT] [--scopes api,read_user] [--expires YYYY-MM-DD]";

/** Creates a token from the command line, for a user who lost theirs. */
export async function token(args: string[], terminal: Terminal) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      user: { type: "string" },
      name: { type: "string", default: "Made from the command line" },
      scopes: { type: "string", default: "api" },
      expires: { type: "string" },
    },
  });
  const { user: username } = values;
  if (positionals.join(" ") !== "create" || username === undefined) throw new Error(USAGE);
  const scopes = values.scopes.split(",").map((text) => {
    const scope = SCOPES.find((known) => known === text.trim());
    if (!scope) throw new Error(`'${text}' is not a scope; use one of ${SCOPES.join(", ")}`);
    return scope satisfies Scope;
  });
  const config = readConfig(terminal.env);
  await withDatabase(config, terminal, async (url) => {
    const services = openServices(config, url, openLog(config, "stderr"));
    try {
      const user = await actingUserByIdOrName(services.db, username);
      if (!user) throw new Error(`there is no user '${username}'`);
      const wanted = { userId: user.id, name: values.name, scopes, expires_at: values.expires };
      const { value, row, problem } = await services.db.transaction(async (tx) => {
        const made = await createToken(tx, wanted);
        const target = { ...targetOf(made.row), details: { user_id: user.id, scopes } };
        await auditCommand(tx, "token create", "personal_access_token_created", target);
        return made;
      });
      terminal.print(value);
      terminal.printAside(`Token ${row.id} of ${user.username} expires on ${row.expires_at}; it is shown only once.`);
      if (problem !== undefined) terminal.printAside(`Requests with it are refused for now: ${problem}`);
    } finally {
      await services.close();
    }
  });
}
