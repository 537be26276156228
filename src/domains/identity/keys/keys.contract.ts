import type { Contract } from "#test/contract.ts";
import { FOUND, GONE, line, MADE, ONLY_OWN, OWN_GONE, READ, READ_USER, WRITE } from "#test/matrix/line.ts";
import { insert, insertForIds, KNOWN_PREFIX, sshKey, word } from "#test/matrix/rows.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";

const NEW_KEY = "key={ssh_key}";

/** The fingerprint of a registered key. */
const FINGERPRINT = `SHA256:${"0".repeat(43)}`;

export const contract: Contract = {
  lines: {
    "GET /user/keys": line(401, 200, 200, READ_USER),
    "GET /user/keys/:key_id": line(401, ONLY_OWN, ONLY_OWN, READ_USER, { object: "key" }),
    "POST /user/keys": line(401, 201, 201, WRITE, { send: NEW_KEY, resetsAccounts: true }),
    "DELETE /user/keys/:key_id": line(401, OWN_GONE, OWN_GONE, WRITE, { object: "key" }),
    "GET /users/:id/keys": line(FOUND, FOUND, FOUND, READ_USER, { object: "user" }),
    "GET /users/:id/keys/:key_id": line(FOUND, FOUND, FOUND, READ_USER, { object: "user", has: "key" }),
    "POST /users/:id/keys": line(401, 403, MADE, WRITE, { object: "user", send: NEW_KEY, resetsAccounts: true }),
    "DELETE /users/:id/keys/:key_id": line(401, 403, GONE, WRITE, { object: "user", has: "key" }),
    "GET /keys": line(401, 403, 200, READ, { send: "fingerprint={fingerprint}" }),
    "GET /keys/:id": line(401, 403, FOUND, READ, { object: "key" }),
  },
  tables: ["keys"],
  differing: ["key", "title", "fingerprint_md5", "fingerprint_sha256"],
  fixtures: {
    key: {
      parents: ["user"],
      make: ({ db }, parents) =>
        insertForIds(
          db,
          "keys",
          parents.map(({ id, name }) => sshKey(id, `${name}-${word()}`)),
          "title",
        ),
    },
  },
  values: {
    ssh_key: () => newSshKey("matrix"),
    fingerprint: ({ db, person, once }) =>
      once("known key", async () => {
        // Another test on the same database may have registered it for its own user.
        await db.deleteFrom("keys").where("fingerprint_sha256", "=", FINGERPRINT).execute();
        const key = sshKey(await person("owner of the known key"), `${KNOWN_PREFIX}known`);
        await insert(db, "keys", [{ ...key, fingerprint_sha256: FINGERPRINT }]);
        return FINGERPRINT;
      }),
  },
  resetAccounts: [`delete from keys where kind = 'user' and title not like '${KNOWN_PREFIX}%'`],
};
