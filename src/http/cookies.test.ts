import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readConfig } from "#config.ts";
import { cookieNameFor, noSessionCookie, readCookie, sessionCookie } from "./cookies.ts";

const plain = readConfig({});
const secure = readConfig({ FAIRLEAD_EXTERNAL_URL: "https://code.example.com" });

describe("the cookie of a session", () => {
  test("is bound to the host and to https if the site uses https", () => {
    for (const [config, site, name] of [
      [plain, "http://localhost:8080", "fairlead_session"],
      [plain, "https://localhost", "__Host-fairlead"],
      // A proxy that does not say that it was asked by https.
      [secure, "http://code.example.com", "__Host-fairlead"],
      [secure, "https://code.example.com", "__Host-fairlead"],
    ] as const) {
      const end = name === "fairlead_session" ? "" : "; Secure";
      assert.equal(cookieNameFor(config, site), name);
      assert.equal(sessionCookie(config, site, "s3cret"), `${name}=s3cret; Path=/; HttpOnly; SameSite=Lax${end}`);
      assert.equal(noSessionCookie(config, site), `${name}=; Path=/; HttpOnly; SameSite=Lax${end}; Max-Age=0`);
    }
  });

  test("is found among others by its whole name", () => {
    for (const header of ["s=1", " s=1 ", "a=2; s=1", "a=2;s=1;b=3", "ss=2; s=1; s2=3", "xs=9; s=1", "a; s=1"])
      assert.equal(readCookie(header, "s"), "1", header);
    assert.equal(readCookie("s=a=b==", "s"), "a=b==");
  });

  test("is ignored if it is empty, missing or sent twice", () => {
    for (const header of ["", "s", "s=", "S=1", "a=s=1", "s=1; s=2", "s=1; s=1", "s=1; s=", ";;;"])
      assert.equal(readCookie(header, "s"), undefined, header);
  });
});
