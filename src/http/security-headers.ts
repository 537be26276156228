/** Headers of every response. */
export const ALWAYS = [
  ["x-content-type-options", "nosniff"],
  ["x-frame-options", "DENY"],
] as const;

/** Headers of a response unless its handler sets them. */
export const BY_DEFAULT = [
  ["referrer-policy", "no-referrer"],
  ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
] as const;

/** For sites over https: browsers return by https only, for a year. */
export const OVER_HTTPS = ["strict-transport-security", "max-age=31536000"];
