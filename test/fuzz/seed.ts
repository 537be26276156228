/** A seed for each case, so that one case can be repeated without those before it. */
export const seedOf = (seed: number, index: number) =>
  (Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)) | 0;
