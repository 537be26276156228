import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const PASSWORD = "Nine-Knots-And-A-Splice";

/** Somebody with a home directory, who answers git's question with a token and ssh's whether they know the server with yes. */
export interface Person {
  readonly home: string;
  readonly environment: Readonly<Record<string, string>>;
  useToken(token: string): void;
  token(): string;
}

export function newPerson(home: string, name: string): Person {
  mkdirSync(join(home, ".ssh"), { recursive: true, mode: 0o700 });
  writeFileSync(join(home, ".gitconfig"), `[user]\n\tname = ${name}\n\temail = ${name}@example.com\n`);
  const askpass = join(home, "askpass");
  const files = `-o IdentityFile=${home}/.ssh/id_ed25519 -o UserKnownHostsFile=${home}/.ssh/known_hosts`;
  let known = "";
  return {
    home,
    environment: {
      HOME: home,
      GIT_ASKPASS: askpass,
      GIT_SSH_COMMAND: `ssh -F none -o IdentityAgent=none -o StrictHostKeyChecking=accept-new ${files}`,
      GIT_CONFIG_NOSYSTEM: "1",
    },
    useToken(token) {
      known = token;
      writeFileSync(askpass, `#!/bin/sh\necho ${token}\n`, { mode: 0o700 });
    },
    token: () => known,
  };
}

/** Does what a browser does with the form behind an invitation. */
export async function choosePassword(link: string) {
  const page = await fetch(link);
  const html = await page.text();
  assert.equal(page.status, 200, html);
  const [, action = ""] = /<form method="post" action="([^"]+)"/.exec(html) ?? [];
  const [, token = ""] = /name="token" value="([^"]+)"/.exec(html) ?? [];
  const answer = await fetch(new URL(action, link), {
    method: "POST",
    headers: { "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ token, password: PASSWORD, password_again: PASSWORD }),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  assert.ok(text.includes(`${new URL(link).origin}/api/v4/session`), "the page does not say where to sign in");
}
