import assert from "node:assert/strict";
import { resolve } from "node:path";
import { describe, test } from "node:test";
import { describeSettings, readConfig } from "./config.ts";

const problemsOf = (env: Record<string, string>) => {
  try {
    readConfig(env);
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
};

describe("configuration", () => {
  test("nothing needs to be set", () => {
    const config = readConfig({});
    assert.equal(config.databaseUrl, undefined);
    assert.equal(config.host, "127.0.0.1");
    assert.equal(config.port, 8080);
    assert.equal(config.offering, "all");
    assert.equal(config.plan, "ultimate");
    assert.equal(config.rateLimits, true);
    assert.equal(config.rateLimitUser, 2000);
    assert.equal(config.rateLimitAddress, 500);
    assert.equal(config.dataDir, resolve("data"));
    assert.deepEqual(config.trustedProxies, []);
  });

  test("it cannot be changed afterwards", () => {
    const config = readConfig({});
    assert.throws(() => ((config as { port: number }).port = 1), TypeError);
  });

  test("values are trimmed, and an empty one is none", () => {
    const config = readConfig({ FAIRLEAD_PORT: " 99 ", FAIRLEAD_HOST: "", FAIRLEAD_DATABASE_URL: "  " });
    assert.equal(config.port, 99);
    assert.equal(config.host, "127.0.0.1");
    assert.equal(config.databaseUrl, undefined);
  });

  test("lists are split at commas", () => {
    const { allowedHosts, trustedProxies } = readConfig({
      FAIRLEAD_ALLOWED_HOSTS: "a.example, b.example,,",
      FAIRLEAD_TRUSTED_PROXIES: "10.0.0.0/8",
    });
    assert.deepEqual(allowedHosts, ["a.example", "b.example"]);
    assert.deepEqual(trustedProxies, ["10.0.0.0/8"]);
  });

  test("a number for each queue, where those left out keep theirs", () => {
    const { jobConcurrency } = readConfig({ FAIRLEAD_JOB_CONCURRENCY: "git=7, mail = 0," });
    assert.deepEqual(jobConcurrency, {
      critical: 5,
      default: 10,
      git: 7,
      moves: 1,
      bulk: 2,
      ingest: 20,
      mail: 0,
      ...{ notifications: 5, outbound: 2 },
    });
    for (const wrong of ["git", "git=", "git=-1", "git=many", "laundry=1", "constructor=1"]) {
      assert.match(problemsOf({ FAIRLEAD_JOB_CONCURRENCY: wrong }) ?? "", /must be like critical=5,default=10/, wrong);
    }
    const shown = describeSettings(readConfig({})).find(({ env }) => env === "FAIRLEAD_JOB_CONCURRENCY");
    assert.equal(
      shown?.value,
      "critical=5,default=10,git=2,moves=1,bulk=2,ingest=20,mail=5,notifications=5,outbound=2",
    );
  });

  test("networks and servers are addresses", () => {
    const good = {
      FAIRLEAD_TRUSTED_PROXIES: "loopback, 10.0.0.0/8",
      FAIRLEAD_DNS_SERVERS: "192.0.2.1:53,[2001:db8::1]:53",
    };
    assert.deepEqual(readConfig(good).trustedProxies, ["loopback", "10.0.0.0/8"]);
    assert.deepEqual(readConfig(good).dnsServers, ["192.0.2.1:53", "[2001:db8::1]:53"]);
    for (const env of ["FAIRLEAD_TRUSTED_PROXIES", "FAIRLEAD_METRICS_ALLOW", "FAIRLEAD_DNS_SERVERS"]) {
      for (const wrong of ["proxy.example.com", "192.0.2.1,10.0.0.0/99", "1.2.3"])
        assert.match(problemsOf({ [env]: wrong }) ?? "", new RegExp(`^Configuration: ${env} must be .*address`), wrong);
    }
  });

  test("storages are names with directories, of which nothing is there twice", () => {
    assert.equal(readConfig({}).storages, undefined, "one in the data directory");
    const { storages } = readConfig({ FAIRLEAD_STORAGES: " default = repositories, fast-1=/srv/fast one," });
    assert.deepEqual(storages, { default: resolve("repositories"), "fast-1": "/srv/fast one" });
    for (const wrong of [",", "default", "default=", "=x", "a b=x", "a=x,a=y", "../up=x", "a=x,b=./x"]) {
      assert.match(problemsOf({ FAIRLEAD_STORAGES: wrong }) ?? "", /^Configuration: FAIRLEAD_STORAGES must /, wrong);
    }
    const shown = describeSettings(readConfig({ FAIRLEAD_STORAGES: "default=/srv/a,fast=/srv/b" }));
    assert.equal(shown.find(({ env }) => env === "FAIRLEAD_STORAGES")?.value, "default=/srv/a,fast=/srv/b");
  });

  test("addresses lose their trailing slashes", () => {
    assert.equal(
      readConfig({ FAIRLEAD_EXTERNAL_URL: "https://code.example.com//" }).externalUrl,
      "https://code.example.com",
    );
  });

  test("an unknown name that begins like ours is refused, others are nobody's business", () => {
    assert.match(problemsOf({ FAIRLEAD_PROT: "1" }) ?? "", /FAIRLEAD_PROT is not a setting/);
    assert.equal(problemsOf({ PATH: "/bin", fairlead_port: "x", XFAIRLEAD_PORT: "y" }), undefined);
  });

  test("all problems are told at once, without the values", () => {
    const told = problemsOf({
      FAIRLEAD_PORT: "70000",
      FAIRLEAD_OFFERING: "cloud",
      FAIRLEAD_RATE_LIMITS: "perhaps",
      FAIRLEAD_EXTERNAL_URL: "ftp://example.com",
      FAIRLEAD_RATE_LIMIT_USER: "0",
      FAIRLEAD_NONSENSE: "secret-value",
    });
    for (const name of ["PORT", "OFFERING", "RATE_LIMITS", "EXTERNAL_URL", "RATE_LIMIT_USER", "NONSENSE"]) {
      assert.match(told ?? "", new RegExp(`FAIRLEAD_${name} `));
    }
    assert.doesNotMatch(told ?? "", /secret-value/);
  });

  test("whole numbers are whole and in range", () => {
    for (const port of ["1.5", "-1", "1e9", "65536", "eighty"]) {
      const told = problemsOf({ FAIRLEAD_PORT: port });
      assert.match(told ?? "", /must be a whole number from 0 to 65535/, port);
    }
  });

  test("the description has every setting once, and of secrets only that they are set", () => {
    const secret = "postgres://user:hunter2@db/x";
    const described = describeSettings(readConfig({ FAIRLEAD_DATABASE_URL: secret, FAIRLEAD_ROOT_TOKEN: secret }));
    assert.equal(new Set(described.map(({ env }) => env)).size, described.length);
    assert.ok(!JSON.stringify(described).includes("hunter2"));
    for (const env of ["FAIRLEAD_DATABASE_URL", "FAIRLEAD_ROOT_TOKEN"]) {
      assert.equal(described.find((setting) => setting.env === env)?.value, "(set)");
    }
    assert.equal(described.find((setting) => setting.env === "FAIRLEAD_ROOT_PASSWORD")?.value, "");
    for (const { about } of described) assert.ok(about.length > 10);
  });
});
