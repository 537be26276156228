import { parseArgs } from "node:util";
import { actingUserByIdOrName } from "#access/acting-users.ts";
import { readConfig } from "#config.ts";
import type { Tx } from "#db/database.ts";
import { mailedSite } from "#domains/foundation/mails/letters.ts";
import { inviteUser } from "#domains/identity/invitations/actions.ts";
import { createUser } from "#domains/identity/users/actions.ts";
import { targetOf } from "#domains/identity/users/named.ts";
import { openLog, openServices, type Services } from "#services.ts";
import { auditCommand } from "./audit.ts";
import { withDatabase } from "./database.ts";
import type { Terminal } from "./terminal.ts";

const USAGE = "usage: fairlead invite USERNAME [--email ADDRESS [--name TEXT]]";

/** Creates an account unless there is one, and prints a link by which its user chooses a password. */
export async function invite(args: string[], terminal: Terminal) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { email: { type: "string" }, name: { type: "string" } },
  });
  const [username, ...others] = positionals;
  if (username === undefined || others.length > 0) throw new Error(USAGE);
  const config = readConfig(terminal.env);
  await withDatabase(config, terminal, async (url) => {
    const services = openServices(config, url, openLog(config, "stderr"));
    try {
      const made = await services.db.transaction(async (tx) => {
        const id = await accountOf(tx, services, { username, ...values });
        const invitation = await inviteUser(tx, services, id, mailedSite(config));
        const { user, mailed, expires_at } = invitation;
        await auditCommand(tx, "invite", "user_invited", { ...targetOf(user), details: { mailed, expires_at } });
        return invitation;
      });
      terminal.print(made.url);
      const mailed = made.mailed ? ` It is also mailed to ${made.user.email}.` : "";
      terminal.printAside(
        `With this link ${made.user.username} chooses a password, once, until ${made.expires_at}.${mailed}`,
      );
    } finally {
      await services.close();
    }
  });
}

interface Invited {
  readonly username: string;
  readonly email?: string | undefined;
  readonly name?: string | undefined;
}

/** The id of the account with this username; it is created if there is none and an address was given. */
async function accountOf(tx: Tx, services: Services, { username, email, name }: Invited): Promise<number> {
  const known = await actingUserByIdOrName(services.db, username);
  if (known) {
    if (email === undefined && name === undefined) return known.id;
    throw new Error(`${known.username} has an account already: leave --email and --name out`);
  }
  if (email === undefined) throw new Error(`there is no user '${username}'; --email ADDRESS creates the account`);
  const given = { username, email, name: name ?? username, force_random_password: true };
  const settings = await services.settings.current();
  const id = await createUser(tx, given, { settings, blobs: services.blobs, passwordDigest: undefined, actorId: null });
  await auditCommand(tx, "invite", "user_created", { ...targetOf({ id, username }), details: { admin: false } });
  return id;
}
