import type { Case } from "./cases.ts";
import { BOUNDARY } from "./request.ts";
import type { World } from "./world.ts";

const cursor = (...parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString("base64url");

/** Requests that once got a wrong response; every run repeats them. */
export function regressions({ administrator, code }: World): Case[] {
  const token = administrator.token ?? "";
  const known = ["private-token", token] as const;
  const ask = (method: string, target: string, headers: Case["asked"]["headers"], body?: Buffer | string): Case => ({
    ...{ kind: "seed", operation: `${method} ${target.slice(0, 40)}`, caller: administrator.name },
    ...{ nobody: false, keyed: false },
    asked: { method, target, headers, body: typeof body === "string" ? Buffer.from(body) : body },
  });
  const form = ["content-type", "application/x-www-form-urlencoded"] as const;
  const json = ["content-type", "application/json"] as const;
  const multipart = ["content-type", `multipart/form-data; boundary=${BOUNDARY}`] as const;
  const host = ["host", "localhost"] as const;
  const git = ["content-type", "application/x-git-upload-pack-request"] as const;
  const [place] = code.places;
  return [
    // Invalid hosts that look like loopback, in a link or in the request target.
    ask("GET", "/api/v4/user", [["host", "127.999.0.1"], known]),
    ask("GET", "/api/v4/user", [["host", "localhost:99999"], known]),
    // A cursor with a year that the database parses as an offset.
    ask(
      "GET",
      `/api/v4/users?order_by=updated_at&sort=asc&pagination=keyset&cursor=${cursor("updated_at", "asc", "+010000-01-01T00:00:00.000Z", 0)}`,
      [host, known],
    ),
    // Links that repeat a whole body, or the token of a JSON body that is sent as a form.
    ask("GET", "/api/v4/users", [host, known, form], `unknown=${"a".repeat(40_000)}`),
    ask("GET", "/api/v4/users", [host, form], JSON.stringify({ search: "Zoe", private_token: token })),
    ask("GET", "/api/v4/users", [host, known, json], manyKeys(50_000)),
    // A token that is not a text.
    ask("GET", "/api/v4/users?private_token[a]=b", [host]),
    ask("GET", "/api/v4/users?private_token[]=b", [host]),
    // Not modified, but with a content type.
    ask("GET", "/-/api/swagger-ui.css", [host, ["if-none-match", "*"]]),
    // Two parameters in one unique index, at their maximum length and beyond.
    ask("POST", "/api/v4/users", [host, known, form], identity(512, 128)),
    ask("POST", "/api/v4/users", [host, known, form], identity(1024, 1024)),
    // Too large, and refused only after all of it was read.
    ask("HEAD", "/", [host, multipart], Buffer.alloc(5 * 1024 * 1024 + 1)),
    ask("GET", "/api/v4/users", [host, multipart], Buffer.alloc(5 * 1024 * 1024 + 1)),
    // A request that git cannot parse and does not report.
    ask("POST", `/${place?.path}.git/git-upload-pack`, [host, known, git], "zzzz"),
    // An archive that the client does not read.
    ask("HEAD", `/api/v4/projects/${place?.id}/repository/archive.tar`, [host, known]),
  ];
}

const manyKeys = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1])));

function identity(idLength: number, providerLength: number): string {
  const name = `long-${idLength}`;
  const fields = { username: name, name, email: `${name}@example.com`, reset_password: "true" };
  return new URLSearchParams({ ...fields, extern_uid: wide(idLength), provider: wide(providerLength) }).toString();
}

const wide = (length: number) =>
  Array.from({ length }, (_, index) => String.fromCodePoint(0x20000 + ((index * 7919) % 0xa000))).join("");
