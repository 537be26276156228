import { resolve } from "node:path";

/** A setting of the environment: its name, default, check and documentation. */
export interface Setting<T> {
  readonly env: string;
  readonly about: string;
  readonly shownDefault: string;
  readonly secret?: true;
  read(text: string | undefined): T;
}

export class BadSetting extends Error {}

export const text = (env: string, fallback: string, about: string): Setting<string> => ({
  env,
  about,
  shownDefault: fallback,
  read: (value) => value ?? fallback,
});

export const optional = (env: string, about: string, secret?: true): Setting<string | undefined> => ({
  env,
  about,
  shownDefault: "",
  ...(secret && { secret }),
  read: (value) => value,
});

export const oneOf = <const T extends string>(
  env: string,
  values: readonly T[],
  fallback: T,
  about: string,
): Setting<T> => ({
  env,
  about: `${about} (${values.join(", ")})`,
  shownDefault: fallback,
  read(value) {
    const found = values.find((known) => known === (value ?? fallback));
    if (found === undefined) throw new BadSetting(`must be one of ${values.join(", ")}`);
    return found;
  },
});

export const whole = (
  env: string,
  fallback: number,
  about: string,
  [least, most] = [0, 2 ** 31 - 1],
): Setting<number> => ({
  env,
  about,
  shownDefault: String(fallback),
  read(value) {
    const number = value === undefined ? fallback : Number(value);
    if (!Number.isInteger(number) || number < least || number > most) {
      throw new BadSetting(`must be a whole number from ${least} to ${most}`);
    }
    return number;
  },
});

export const list = (env: string, fallback: readonly string[], about: string): Setting<readonly string[]> => ({
  env,
  about: `${about} (comma-separated)`,
  shownDefault: fallback.join(","),
  read: (value) =>
    value === undefined
      ? fallback
      : value
          .split(",")
          .map((part) => part.trim())
          .filter(Boolean),
});

export const onOff = (env: string, fallback: "on" | "off", about: string): Setting<boolean> => {
  const choice = oneOf(env, ["on", "off", "1", "0", "true", "false"], fallback, about);
  return { ...choice, about: `${about} (on, off)`, read: (value) => ["on", "1", "true"].includes(choice.read(value)) };
};

export const portOrOff = (env: string, fallback: number, about: string): Setting<number | "off"> => {
  const port = whole(env, fallback, about, [0, 65535]);
  return { ...port, read: (value) => (value === "off" ? value : port.read(value)) };
};

/** A whole number for each of some names; those left out keep their default. */
export const counts = <K extends string>(
  env: string,
  fallback: Readonly<Record<K, number>>,
  about: string,
): Setting<Readonly<Record<K, number>>> => ({
  env,
  about,
  shownDefault: pairs(fallback),
  read(value = "") {
    const given: Record<K, number> = { ...fallback };
    for (const part of value.split(",").filter((each) => each.trim() !== "")) {
      const [, name = "", count] = /^\s*(\w+)\s*=\s*(\d{1,3})\s*$/.exec(part) ?? [];
      if (!Object.hasOwn(fallback, name)) throw new BadSetting(`must be like ${pairs(fallback)}`);
      given[name as K] = Number(count);
    }
    return Object.freeze(given);
  },
});

export const pairs = (values: Readonly<Record<string, number | string>>) =>
  Object.entries(values)
    .map((pair) => pair.join("="))
    .join(",");

const STORAGE = /^\s*([a-z0-9][a-z0-9_-]{0,62})\s*=\s*(\S.*?)\s*$/i;

/** A directory for each of some names. */
export const directories = (
  env: string,
  shownDefault: string,
  about: string,
): Setting<Readonly<Record<string, string>> | undefined> => ({
  env,
  about,
  shownDefault,
  read(value) {
    if (value === undefined) return undefined;
    const given: Record<string, string> = {};
    for (const part of value.split(",").filter((each) => each.trim() !== "")) {
      const [, name = "", directory = ""] = STORAGE.exec(part) ?? [];
      if (name === "" || Object.hasOwn(given, name))
        throw new BadSetting(`must be like ${shownDefault}, each name once`);
      given[name] = resolve(directory);
    }
    const distinct = new Set(Object.values(given)).size;
    if (distinct === 0 || distinct < Object.keys(given).length)
      throw new BadSetting("must name directories, each once");
    return Object.freeze(given);
  },
});

export const address = (env: string, about: string): Setting<string | undefined> => ({
  env,
  about,
  shownDefault: "",
  read(value) {
    if (value === undefined) return undefined;
    if (!/^https?:$/.test(URL.parse(value)?.protocol ?? "")) throw new BadSetting("must be an http or https address");
    return value.replace(/\/+$/, "");
  },
});
