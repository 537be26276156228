import assert from "node:assert/strict";
import { test } from "node:test";
import { addressMatcher, LOOPBACK } from "./networks.ts";

test("addresses are found in a list of addresses, networks and names", () => {
  const matches = addressMatcher([LOOPBACK, "192.0.2.1", "10.0.0.0/8", "2001:db8::/32"]);
  for (const address of ["127.0.0.1", "::ffff:127.1.2.3", "::1", "192.0.2.1", "10.9.8.7", "2001:db8::5"]) {
    assert.equal(matches(address), true, address);
  }
  for (const address of ["192.0.2.2", "11.0.0.1", "2001:db9::1", "not an address"]) {
    assert.equal(matches(address), false, address);
  }
});
