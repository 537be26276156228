import type { TestEvent } from "node:test/reporters";

/** A reporter for Node's test runner: a line for each top-level test, with its milliseconds and its file. */
// oxlint-disable-next-line import/no-default-export -- the test runner loads the default export
export default async function* fileTimes(events: AsyncIterable<TestEvent>) {
  for await (const { type, data } of events)
    if ((type === "test:pass" || type === "test:fail") && data.nesting === 0)
      yield `${data.details.duration_ms} ${data.file}\n`;
}
