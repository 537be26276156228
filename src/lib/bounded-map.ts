/** Sets an entry of a map that holds at most `max` entries; removes the oldest one if it is full and returns its key. */
export function setBounded<K, V>(map: Map<K, V>, key: K, value: V, max: number): K | undefined {
  let evicted: K | undefined;
  if (map.size >= max && !map.has(key)) {
    const [oldest] = map.keys();
    if (oldest !== undefined) map.delete(oldest);
    evicted = oldest;
  }
  map.set(key, value);
  return evicted;
}
