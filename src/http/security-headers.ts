/** What every answer carries. */
export const ALWAYS = [
  ["x-content-type-options", "nosniff"],
  ["x-frame-options", "DENY"],
] as const;

/** What an answer carries unless its handler says something else. */
export const BY_DEFAULT = [
  ["referrer-policy", "no-referrer"],
  ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
] as const;

/** What answers of a site with https carry: browsers come back by https only, for a year. */
export const OVER_HTTPS = ["strict-transport-security", "max-age=31536000"];
