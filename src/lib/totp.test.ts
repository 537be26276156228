import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { base32, newTotpSecret, totpCode, totpStep, totpUri } from "./totp.ts";

/** The secret of RFC 6238, appendix B. */
const SECRET = base32(Buffer.from("12345678901234567890"));
const NOW = 57_000_000;

describe("codes of an authenticator app", () => {
  test("are those of RFC 6238, appendix B", () => {
    for (const [seconds, code] of [
      [59, "94287082"],
      [1_111_111_109, "07081804"],
      [1_111_111_111, "14050471"],
      [1_234_567_890, "89005924"],
      [2_000_000_000, "69279037"],
      [20_000_000_000, "65353130"],
    ] as const) {
      const step = Math.floor(seconds / 30);
      assert.equal(totpCode(SECRET, step, 8), code);
      assert.equal(totpCode(SECRET, step), code.slice(2));
    }
  });

  test("base32 is that of RFC 4648", () => {
    for (const [text, encoded] of [
      ["", ""],
      ["f", "MY"],
      ["fo", "MZXQ"],
      ["foo", "MZXW6"],
      ["foob", "MZXW6YQ"],
      ["fooba", "MZXW6YTB"],
      ["foobar", "MZXW6YTBOI"],
    ] as const) {
      assert.equal(base32(Buffer.from(text)), encoded);
    }
    assert.equal(base32(Buffer.alloc(20, 0xff)), "7".repeat(32));
  });

  test("a secret has 160 random bits", () => {
    const secrets = new Set(Array.from({ length: 200 }, newTotpSecret));
    assert.equal(secrets.size, 200);
    for (const secret of secrets) assert.match(secret, /^[A-Z2-7]{32}$/);
    assert.equal(new Set([...secrets].join("")).size, 32, "every letter occurs");
  });

  test("are accepted one step early or late, and only after the last used step", () => {
    for (const distance of [-1, 0, 1]) {
      assert.equal(totpStep(SECRET, totpCode(SECRET, NOW + distance), NOW, 0), NOW + distance);
      assert.equal(totpStep(SECRET, totpCode(SECRET, NOW + distance), NOW, NOW + distance), undefined);
      assert.equal(totpStep(SECRET, totpCode(SECRET, NOW + distance), NOW, NOW + distance - 1), NOW + distance);
    }
    for (const distance of [-3, -2, 2, 3])
      assert.equal(totpStep(SECRET, totpCode(SECRET, NOW + distance), NOW, 0), undefined);
  });

  test("other texts of any length are refused", () => {
    for (const wrong of ["", "1", "12345", "1234567", "abcdef", "１２３４５６", "99999é"])
      assert.equal(totpStep(SECRET, wrong, NOW, 0), undefined, wrong);
  });

  test("the secret is encoded in an otpauth URI", () => {
    const uri = new URL(totpUri(SECRET, "Fairlead harbour", "anna&co"));
    assert.equal(uri.protocol, "otpauth:");
    assert.equal(decodeURIComponent(uri.pathname), "/Fairlead harbour:anna&co");
    assert.deepEqual(Object.fromEntries(uri.searchParams), {
      secret: SECRET,
      issuer: "Fairlead harbour",
      algorithm: "SHA1",
      digits: "6",
      period: "30",
    });
  });
});
