import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readConfig } from "#config.ts";
import { sshAddress } from "./ssh-address.ts";

describe("the SSH URL of repositories", () => {
  const shown = (env: Record<string, string>, site = "https://code.example.com:8443") =>
    sshAddress(readConfig(env), site);

  it("has the host of links and the port of SSH, in short form for port 22", () => {
    assert.equal(shown({}), "ssh://git@code.example.com:2222/");
    assert.equal(shown({ FAIRLEAD_SSH_PORT: "22" }), "git@code.example.com:");
    assert.equal(shown({ FAIRLEAD_SSH_PORT: "off" }), "git@code.example.com:");
    assert.equal(shown({}, "http://[::1]:8080"), "ssh://git@[::1]:2222/");
  });

  it("is the configured one, if there is one", () => {
    assert.equal(shown({ FAIRLEAD_SSH_URL: "ssh://git@ssh.example.com" }), "git@ssh.example.com:");
    assert.equal(shown({ FAIRLEAD_SSH_URL: "ssh://code@ssh.example.com:22/" }), "code@ssh.example.com:");
    assert.equal(shown({ FAIRLEAD_SSH_URL: "ssh://git@ssh.example.com:7999" }), "ssh://git@ssh.example.com:7999/");
    for (const wrong of ["git@host", "https://git@host", "ssh://host", "ssh://git@host/path", "ssh://"]) {
      assert.throws(() => shown({ FAIRLEAD_SSH_URL: wrong }), /FAIRLEAD_SSH_URL must be like/, wrong);
    }
    for (const wrong of ["on", "65536", "-1"]) {
      assert.throws(() => shown({ FAIRLEAD_SSH_PORT: wrong }), /FAIRLEAD_SSH_PORT must be a whole number/, wrong);
    }
  });
});
