import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { crc32 } from "node:zlib";
import { isSameSecret, newToken } from "./secrets.ts";

describe("secrets", () => {
  test("a token has our prefix, 160 random bits and a checksum", () => {
    for (let n = 0; n < 200; n++) {
      const [, body = "", random = "", checksum = ""] = /^(flpat-([\w-]{27}))([0-9a-z]{7})$/.exec(newToken()) ?? [];
      assert.equal(Buffer.from(random, "base64url").length, 20);
      assert.equal(Number.parseInt(checksum, 36), crc32(body));
    }
  });

  test("no token is generated twice", () => {
    assert.equal(new Set(Array.from({ length: 2000 }, newToken)).size, 2000);
  });

  test("secrets of any length are compared", () => {
    assert.equal(isSameSecret("é secret", "é secret"), true);
    for (const other of ["", "é", "é secreT", "e secret", "é secret "])
      assert.equal(isSameSecret("é secret", other), false);
  });
});
