import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, test } from "node:test";
import { parseJson, INGESTION_LIMITS } from "#http/params/json.ts";
import type { RawSet } from "#http/params/raw.ts";
import type { ReportedAlert } from "./alert.ts";
import { fieldsIn } from "./fields.ts";
import { readGeneric } from "./generic.ts";
import type { FieldMapping, Mappings } from "./mapping.ts";
import { isMetricsFormat, readItem } from "./metrics.ts";
import { reportsIn } from "./reports.ts";

const NOW = new Date("2026-05-04T12:00:00Z");
const sha256 = (text: string) => hash("sha256", text, "hex");

const generic = (payload: object, mappings: Mappings = {}, fingerprints = true) =>
  readGeneric(payload as RawSet, mappings, fingerprints);
const digestOf = ({ digest }: ReportedAlert) => digest?.toString("hex") ?? null;

describe("the generic format", () => {
  test("every field is optional", () => {
    const { digest, groupedBy, ...alert } = generic({});
    assert.deepEqual(alert, {
      ...{ title: "New: Alert", description: null, severity: "critical", service: null, monitoringTool: null },
      ...{ hosts: [], environmentName: null, runbook: null, query: null },
      ...{ startedAt: null, resolves: false, endedAt: null, payload: {} },
    });
    assert.deepEqual([digest, groupedBy], [null, { by: "nothing" }]);
  });

  test("every field is read", () => {
    const alert = generic({
      ...{ title: "Disk full", description: "No space", start_time: "2026-05-04T10:00:00+02:00", service: "mail" },
      ...{ monitoring_tool: "curl", hosts: ["a", "b"], severity: "High", fingerprint: "disk" },
      ...{ platform_environment_name: "production", runbook: "https://example.com/run", custom: { deep: [1] } },
    });
    assert.deepEqual(
      { ...alert, digest: digestOf(alert), payload: Object.keys(alert.payload).length },
      {
        ...{ title: "Disk full", description: "No space", severity: "high", service: "mail", monitoringTool: "curl" },
        ...{ hosts: ["a", "b"], environmentName: "production", runbook: "https://example.com/run", query: null },
        ...{ startedAt: "2026-05-04T08:00:00.000Z", resolves: false, endedAt: null, payload: 11 },
        ...{ digest: sha256("disk"), groupedBy: { by: "fingerprint", value: "disk" } },
      },
    );
  });

  test("the original name of the environment counts too", () => {
    assert.equal(generic({ gitlab_environment_name: "staging" }).environmentName, "staging");
    const both = { platform_environment_name: "production", gitlab_environment_name: "staging" };
    assert.equal(generic(both).environmentName, "production");
  });

  test("severity is one of six words in any case, and critical otherwise", () => {
    for (const word of ["critical", "high", "medium", "low", "info", "unknown"])
      assert.equal(generic({ severity: ` ${word.toUpperCase()} ` }).severity, word);
    for (const severity of [undefined, null, "", "warning", "s2", 3, ["low"], { low: true }])
      assert.equal(generic({ severity }).severity, "critical", JSON.stringify(severity));
  });

  test("a start in any usual form; one that cannot be read is left out", () => {
    const startedAt = (start_time: unknown) => generic({ start_time }).startedAt;
    assert.equal(startedAt("2026-05-04 10:00:00"), "2026-05-04T10:00:00.000Z");
    assert.equal(startedAt("2026-05-04T10:00:00.123456789Z"), "2026-05-04T10:00:00.123Z");
    assert.equal(startedAt("Mon, 04 May 2026 10:00:00 +0200"), "2026-05-04T08:00:00.000Z");
    assert.equal(startedAt("May 4, 2026 10:00"), "2026-05-04T10:00:00.000Z");
    assert.equal(startedAt(1_777_888_800_000), "2026-05-04T10:00:00.000Z");
    for (const unreadable of [
      "soon",
      "",
      "0001-01-01T00:00:00Z",
      "2026-13-45",
      7,
      true,
      null,
      ["2026-05-04"],
      "9".repeat(99),
    ])
      assert.equal(startedAt(unreadable), null, String(unreadable));
  });

  test("a readable end resolves; nothing else does", () => {
    const ends = (end_time: unknown) => generic({ end_time, status: "resolved" });
    for (const end of ["2026-05-04T10:00:00Z", 1_777_888_800_000, "1777888800000"]) {
      assert.deepEqual([ends(end).resolves, ends(end).endedAt], [true, "2026-05-04T10:00:00.000Z"], String(end));
    }
    for (const end of ["", "later", null, undefined, 12, false, {}])
      assert.equal(ends(end).resolves, false, String(end));
  });

  test("hosts are a text or nested lists, as many as fit", () => {
    const hosts = (given: unknown) => generic({ hosts: given }).hosts;
    assert.deepEqual(hosts("web-1"), ["web-1"]);
    assert.deepEqual(hosts(["a", ["b", ["c", 4]], "", null, {}]), ["a", "b", "c", "4"]);
    assert.deepEqual(hosts({ a: 1 }), []);
    const many = hosts(Array.from({ length: 100 }, (_, at) => `host-${at}`));
    assert.ok(many.join("").length <= 255 && many.length > 30, String(many.length));
  });

  test("texts are cut to what fits, by characters", () => {
    const long = "🚢".repeat(2000);
    const alert = generic({ title: long, description: long, service: long, monitoring_tool: long });
    const lengths = [alert.title, alert.description, alert.service, alert.monitoringTool].map((text) => [
      ...(text ?? ""),
    ]);
    assert.deepEqual(
      lengths.map(({ length }) => length),
      [200, 1000, 100, 100],
    );
    for (const characters of lengths) assert.equal(characters.at(-1), "…");
    assert.equal(generic({ title: "a".repeat(200) }).title, "a".repeat(200));
    assert.equal(generic({ title: " two\nlines\t " }).title, "two lines");
    assert.equal(generic({ title: { nested: true } }).title, "New: Alert");
  });

  test("a fingerprint is a text, a number, a list or an object", () => {
    const same = (one: unknown, other: unknown) =>
      digestOf(generic({ fingerprint: one })) === digestOf(generic({ fingerprint: other }));
    assert.ok(same("7", 7));
    assert.ok(same("a", ["a"]));
    assert.ok(same(["a", ["b"]], ["a", "b"]));
    assert.ok(!same(["a", "bc"], ["ab", "c"]));
    assert.ok(same({ a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }));
    assert.ok(!same({ a: 1 }, { a: 2 }));
    for (const blank of ["", " ", null, [], {}])
      assert.deepEqual(generic({ title: "x", fingerprint: blank }).groupedBy, {
        by: "payload",
        without: ["start_time", "end_time", "hosts"],
      });
  });

  test("without one it is the payload except start_time, end_time and hosts, in any order of keys", () => {
    const first = generic({ title: "x", labels: { a: 1, b: 2 }, start_time: "2026-05-04", hosts: ["a"] });
    const again = generic({ labels: { b: 2, a: 1 }, hosts: "b", end_time: "2026-05-05", title: "x" });
    assert.equal(digestOf(first), digestOf(again));
    assert.notEqual(digestOf(first), digestOf(generic({ title: "y", labels: { a: 1, b: 2 } })));
    assert.notEqual(digestOf(first), digestOf(generic({ title: "x", labels: { a: 1, b: 2, hosts: "a" } })));
    const numbered = (id: string) => generic(parseJson(Buffer.from(`{"id":${id}}`), INGESTION_LIMITS) as object);
    assert.notEqual(digestOf(numbered("12345678901234567891")), digestOf(numbered("12345678901234567892")));
    assert.equal(digestOf(generic({ title: "x" }, {}, false)), null);
    assert.equal(digestOf(generic({ title: "x", fingerprint: "f" }, {}, false)), sha256("f"));
    assert.equal(digestOf(generic({ title: "", x: [{}], hosts: "a" })), null);
  });
});

const ITEM = {
  status: "firing",
  labels: { alertname: "Down", severity: "page", platform_environment_name: "production", job: "web" },
  annotations: { summary: "Web is down", description: "No answer", runbook: "https://example.com/run", other: "kept" },
  startsAt: "2026-05-04T09:59:00.123456789Z",
  endsAt: "0001-01-01T00:00:00Z",
  generatorURL: "http://prometheus.example.com/graph?g0.expr=up+%3D%3D+0&g0.tab=1",
  fingerprint: "0123456789abcdef",
};
const ENVELOPE = {
  ...{ receiver: "hook", status: "firing", groupLabels: {}, commonLabels: {}, commonAnnotations: {} },
  ...{ externalURL: "http://am.example.com", version: "4", groupKey: "{}:{}", truncatedAlerts: 0 },
};
const item = (changes: object = {}, mappings: Mappings = {}) => readItem({ ...ITEM, ...changes }, mappings, NOW);
const readable = (changes: object = {}, mappings: Mappings = {}): ReportedAlert => {
  const alert = item(changes, mappings);
  assert.ok(alert);
  return alert;
};

describe("the format for metrics", () => {
  test("is told by nine keys, whatever their values, and the version as text", () => {
    const body: RawSet = { ...ENVELOPE, alerts: [] };
    assert.ok(isMetricsFormat(body));
    const keys = [
      "alerts",
      "commonAnnotations",
      "commonLabels",
      "externalURL",
      "groupKey",
      "groupLabels",
      "receiver",
      "status",
    ];
    for (const key of [...keys, "version"]) {
      const { [key]: _, ...rest } = body;
      assert.ok(!isMetricsFormat(rest), key);
    }
    for (const version of [4, "3", null]) assert.ok(!isMetricsFormat({ ...body, version }), String(version));
    assert.ok(isMetricsFormat({ ...body, groupLabels: null, receiver: "" }));
  });

  test("every attribute of an item is read", () => {
    const { digest, payload, ...alert } = readable();
    assert.deepEqual(alert, {
      ...{ title: "Web is down", description: "No answer", severity: "high", service: null, hosts: [] },
      ...{ monitoringTool: "Prometheus", environmentName: "production", runbook: "https://example.com/run" },
      ...{ query: "up == 0", startedAt: "2026-05-04T09:59:00.123Z", resolves: false, endedAt: null },
      groupedBy: { by: "item", starts_at: ITEM.startsAt, title: "Web is down", query: "up == 0" },
    });
    assert.equal(digest?.toString("hex"), sha256(`${ITEM.startsAt}/Web is down/up == 0`));
    assert.deepEqual(payload, ITEM);
  });

  test("the title is the first of three, and required like the start", () => {
    const annotations = { title: "First", summary: "Second" };
    const labels = { alertname: "Third" };
    assert.equal(readable({ annotations, labels }).title, "First");
    assert.equal(readable({ annotations: { ...annotations, title: " " }, labels }).title, "Second");
    assert.equal(readable({ annotations: {}, labels }).title, "Third");
    assert.equal(item({ annotations: {}, labels: {} }), undefined);
    assert.equal(item({ startsAt: undefined }), undefined);
    assert.equal(readable({ startsAt: "yesterday" }).startedAt, null);
    for (const odd of [null, 7, "x", [], [ITEM]]) assert.equal(readItem(odd, {}, NOW), undefined, String(odd));
    for (const odd of [null, 7, "x", [{}]])
      assert.equal(item({ labels: odd, annotations: odd }), undefined, String(odd));
  });

  test("severities have the words of the table, in any case; anything else is critical", () => {
    const table = {
      critical: ["critical", "s1", "p1", "emergency", "fatal"],
      high: ["high", "s2", "p2", "major", "page"],
      medium: ["medium", "s3", "p3", "error", "alert"],
      low: ["low", "s4", "p4", "warn", "warning"],
      info: ["info", "s5", "p5", "debug", "information", "notice"],
    };
    for (const [severity, words] of Object.entries(table))
      for (const word of words)
        assert.equal(readable({ labels: { ...ITEM.labels, severity: word.toUpperCase() } }).severity, severity, word);
    for (const severity of ["minor", "unknown", "", "x", undefined, 3])
      assert.equal(readable({ labels: { ...ITEM.labels, severity } }).severity, "critical", String(severity));
  });

  test("its own status resolves an item; an end does so only without one", () => {
    const past = "2026-05-04T11:00:00Z";
    const future = "2026-05-04T13:00:00Z";
    assert.deepEqual(
      [readable({ status: "resolved", endsAt: past }).resolves, readable({ endsAt: past }).resolves],
      [true, false],
    );
    assert.equal(readable({ status: "resolved", endsAt: past }).endedAt, "2026-05-04T11:00:00.000Z");
    assert.deepEqual(
      [readable({ status: "resolved" }).resolves, readable({ status: "resolved" }).endedAt],
      [true, null],
    );
    const without = (endsAt: string) => readable({ status: undefined, endsAt }).resolves;
    assert.deepEqual([without(past), without(future), without(ITEM.endsAt), without("?")], [true, false, false, false]);
  });

  test("the group's own status counts for nothing, and an item that cannot be read stops no other", () => {
    const alerts = [ITEM, { status: "resolved" }, { ...ITEM, status: "resolved" }];
    const reading = { mappings: {}, fingerprintsPayloads: true, now: NOW };
    const reports = reportsIn({ ...ENVELOPE, status: "resolved", alerts }, reading);
    assert.deepEqual(
      reports.map((report) => report?.resolves),
      [false, undefined, true],
    );
    assert.deepEqual(reportsIn({ ...ENVELOPE, alerts: "none" }, reading), []);
  });

  test("no query without a readable address of the graph", () => {
    for (const generatorURL of ["", "::", "http://x/graph", 7, null, ["http://x?g0.expr=up"]])
      assert.equal(readable({ generatorURL }).query, null, String(generatorURL));
  });
});

describe("a mapping", () => {
  const at = (path: string[], type: FieldMapping["type"] = "string", fallback_path: string[] | null = null) => ({
    ...{ path, type, label: null, fallback_path },
  });

  test("reads a field elsewhere, then at its fallback, then at its usual place", () => {
    const mappings = { title: at(["event", "name"], "string", ["names", "0"]) };
    assert.equal(generic({ event: { name: "A" }, names: ["B"], title: "C" }, mappings).title, "A");
    assert.equal(generic({ event: {}, names: ["B"], title: "C" }, mappings).title, "B");
    assert.equal(generic({ event: { name: { x: 1 } }, names: [], title: "C" }, mappings).title, "C");
  });

  test("of every field", () => {
    const mappings = {
      ...{ description: at(["d"]), start_time: at(["s"], "datetime"), end_time: at(["e"], "number") },
      ...{ service: at(["v"]), monitoring_tool: at(["m"]), hosts: at(["h"], "array"), severity: at(["y"]) },
      ...{ fingerprint: at(["f"]), platform_environment_name: at(["n"]) },
    };
    const payload = {
      ...{ d: "D", s: "2026-05-04", e: 1_777_888_800_000, v: "V", m: "M", h: ["H"], y: "low", f: "F", n: "N" },
    };
    const alert = generic(payload, mappings);
    assert.deepEqual(
      [alert.description, alert.startedAt, alert.endedAt, alert.service, alert.monitoringTool, alert.hosts],
      ["D", "2026-05-04T00:00:00.000Z", "2026-05-04T10:00:00.000Z", "V", "M", ["H"]],
    );
    assert.deepEqual([alert.severity, digestOf(alert), alert.environmentName], ["low", sha256("F"), "N"]);
  });

  test("of the format for metrics begins at the item, and may choose the fingerprint", () => {
    const mappings = { service: at(["labels", "job"]), fingerprint: at(["fingerprint"]) };
    const alert = readable({}, mappings);
    assert.deepEqual([alert.service, digestOf(alert)], ["web", sha256(ITEM.fingerprint)]);
  });

  test("finds nothing that an object inherits", () => {
    for (const name of ["constructor", "toString", "__proto__", "length"])
      assert.equal(generic({ title: "T" }, { title: at([name, "name"]) }).title, "T", name);
    const odd = parseJson(Buffer.from('{"__proto__":{"name":"odd"}}'), INGESTION_LIMITS) as RawSet;
    assert.equal(readGeneric(odd, { title: at(["__proto__", "name"]) }, true).title, "odd");
  });

  test("can name every text, time, whole number and list of a sample", () => {
    const sample = { a: "x", t: "2026-05-04", n: 3, f: 1.5, b: true, z: null, l: [{ k: "v" }], o: { p: "q" } };
    assert.deepEqual(
      fieldsIn(sample).map(({ label, type, path }) => [label, type, path.join(".")]),
      [
        ["a", "string", "a"],
        ["t", "datetime", "t"],
        ["n", "number", "n"],
        ["l", "array", "l"],
        ["l[0]/k", "string", "l.0.k"],
        ["o/p", "string", "o.p"],
      ],
    );
    const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`k${at}`, at]));
    assert.equal(fieldsIn(wide).length, 1000);
    const deep = { ["n".repeat(30_000)]: Array.from({ length: 5000 }, (_, at) => at) };
    assert.ok(JSON.stringify(fieldsIn(deep)).length < 2 ** 20);
  });
});
