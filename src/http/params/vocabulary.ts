import Type, { type TArrayOptions, type TSchema, type TStringOptions } from "typebox";
import type { UploadedFile } from "./raw.ts";

/** A number that names a row; in a path one out of range is 404. */
export const Id = Type.Integer({ minimum: 0 });

/** A day, `YYYY-MM-DD`. */
export const DateOnly = Type.String({ format: "date" });

/** A moment; it reaches the handler in UTC with milliseconds. */
export const DateTime = Type.String({ format: "date-time" });

/** An uploaded file; only multipart bodies carry one. */
export const File = Type.Unsafe<UploadedFile>({ type: "string", format: "binary" });

/** A switch that may be left out. */
export const Flag = Type.Optional(Type.Boolean());

/** Names and values of the caller's choice, `custom_attributes[k]=v`. */
export const Hash = Type.Record(Type.String(), Type.String());

/** A text that may not be blank. */
export const Text = (maxLength?: number) =>
  Type.String(maxLength === undefined ? { minLength: 1 } : { minLength: 1, maxLength });

/** A name or title: line breaks and other control characters in it become a space. */
export const Line = (maxLength: number, options: TStringOptions = {}) =>
  Type.String({ minLength: 1, maxLength, "x-single-line": true, ...options });

/** A value that may be null, which is not the same as left out. */
export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

/** A list that may also come as one text with commas. */
export const CommaList = <S extends TSchema>(items: S, options: TArrayOptions = {}) =>
  Type.Array(items, { ...options, commaList: true });
