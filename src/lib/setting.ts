import { resolve } from "node:path";
import { addressIn, addressMatcher } from "./networks.ts";

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

export const wholeNumber = (
  env: string,
  fallback: number,
  about: string,
  [min, max] = [0, 2 ** 31 - 1],
): Setting<number> => ({
  env,
  about,
  shownDefault: String(fallback),
  read(value) {
    const number = value === undefined ? fallback : Number(value);
    if (!Number.isInteger(number) || number < min || number > max) {
      throw new BadSetting(`must be a whole number from ${min} to ${max}`);
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

/** Addresses and networks, such as 192.0.2.1 and 2001:db8::/32. */
export const networks = (env: string, about: string): Setting<readonly string[]> => {
  const texts = list(env, [], about);
  return {
    ...texts,
    read(value) {
      const entries = texts.read(value);
      try {
        addressMatcher(entries);
      } catch (error) {
        throw new BadSetting(`must be addresses or networks: ${(error as Error).message}`);
      }
      return entries;
    },
  };
};

/** Addresses of servers, with or without a port. */
export const servers = (env: string, about: string): Setting<readonly string[]> => {
  const texts = list(env, [], about);
  return {
    ...texts,
    read(value) {
      const entries = texts.read(value);
      const wrong = entries.find((entry) => addressIn(entry) === undefined);
      if (wrong !== undefined) throw new BadSetting(`must be IP addresses, with or without a port: ${wrong} is none`);
      return entries;
    },
  };
};

export const onOff = (env: string, fallback: "on" | "off", about: string): Setting<boolean> => {
  const choice = oneOf(env, ["on", "off", "1", "0", "true", "false"], fallback, about);
  return { ...choice, about: `${about} (on, off)`, read: (value) => ["on", "1", "true"].includes(choice.read(value)) };
};

export const portOrOff = (env: string, fallback: number, about: string): Setting<number | "off"> => {
  const port = wholeNumber(env, fallback, about, [0, 65535]);
  return { ...port, read: (value) => (value === "off" ? value : port.read(value)) };
};

/** A whole number for each of these names; omitted names keep their defaults. */
export const counts = <K extends string>(
  env: string,
  fallback: Readonly<Record<K, number>>,
  about: string,
): Setting<Readonly<Record<K, number>>> => ({
  env,
  about,
  shownDefault: pairs(fallback),
  read(value = "") {
    const values: Record<K, number> = { ...fallback };
    for (const part of value.split(",").filter((each) => each.trim() !== "")) {
      const [, name = "", count] = /^\s*(\w+)\s*=\s*(\d{1,3})\s*$/.exec(part) ?? [];
      if (!Object.hasOwn(fallback, name)) throw new BadSetting(`must be like ${pairs(fallback)}`);
      values[name as K] = Number(count);
    }
    return Object.freeze(values);
  },
});

export const pairs = (values: Readonly<Record<string, number | string>>) =>
  Object.entries(values)
    .map((pair) => pair.join("="))
    .join(",");

const STORAGE = /^\s*([a-z0-9][a-z0-9_-]{0,62})\s*=\s*(\S.*?)\s*$/i;

/** Directories by name. */
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
    const values: Record<string, string> = {};
    for (const part of value.split(",").filter((each) => each.trim() !== "")) {
      const [, name = "", directory = ""] = STORAGE.exec(part) ?? [];
      if (name === "" || Object.hasOwn(values, name))
        throw new BadSetting(`must be like ${shownDefault}, each name once`);
      values[name] = resolve(directory);
    }
    const distinct = new Set(Object.values(values)).size;
    if (distinct === 0 || distinct < Object.keys(values).length)
      throw new BadSetting("must name directories, each once");
    return Object.freeze(values);
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
