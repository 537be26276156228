import type { RawSet } from "#http/params/raw.ts";
import { ORIGINAL_NAMES } from "#domains/foundation/original-names.ts";

/** The environment that a payload or the labels of an item name. */
export const environmentIn = (values: RawSet): unknown =>
  values["platform_environment_name"] ?? values[ORIGINAL_NAMES.platform_environment_name];
