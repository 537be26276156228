import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addressMatcher, LOOPBACK, networkOf } from "./networks.ts";

test("addresses are found in a list of addresses, networks and names", () => {
  const matches = addressMatcher([LOOPBACK, "192.0.2.1", "10.0.0.0/8", "2001:db8::/32"]);
  for (const address of ["127.0.0.1", "::ffff:127.1.2.3", "::1", "192.0.2.1", "10.9.8.7", "2001:db8::5"]) {
    assert.equal(matches(address), true, address);
  }
  for (const address of ["192.0.2.2", "11.0.0.1", "2001:db9::1", "not an address"]) {
    assert.equal(matches(address), false, address);
  }
});

describe("the network of an address", () => {
  for (const [network, addresses] of Object.entries({
    "192.0.2.1": ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:192.0.2.1", "::ffff:c000:201", "0:0:0:0:0:ffff:c000:0201"],
    "2001:db8:1:2": ["2001:db8:1:2::", "2001:db8:1:2::1", "2001:0DB8:1:2:ffff:3:4:5", "2001:db8:1:2:3:4:192.0.2.1"],
    "2001:db8:0:0": ["2001:db8::", "2001:db8::1", "2001:db8:0:0:1::", "2001:db8::ffff:192.0.2.1"],
    "0:0:0:0": ["::", "::1", "::192.0.2.1", "::fffe:192.0.2.1"],
    "fe80:0:0:0": ["fe80::1", "fe80::1%eth0", "fe80::2%1"],
    unknown: ["unknown"],
  })) {
    for (const address of addresses)
      test(`${address} is in ${network}`, () => assert.equal(networkOf(address), network));
  }
});
