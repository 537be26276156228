/** Counts assertions as they run; a failed one is printed at once. */
export function tally() {
  let passed = 0;
  let failed = 0;
  return {
    check(holds: boolean, message: () => string) {
      if (holds) {
        passed++;
      } else {
        failed++;
        console.log(`FAILED ${message()}`);
      }
    },
    passed: () => passed,
    failed: () => failed,
  };
}

export type Tally = ReturnType<typeof tally>;
