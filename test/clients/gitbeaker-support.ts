/** Helpers of the scripts for @gitbeaker/rest. */
import { deepEqual, equal, fail, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { crc32, deflateSync } from "node:zlib";
import { Gitlab, GitbeakerRequestError } from "@gitbeaker/rest";

export const host = process.env["FAIRLEAD_URL"] as string;
export const token = process.env["FAIRLEAD_TOKEN"] as string;
export const perPage = 5;

export async function check(name: string, body: () => Promise<void>): Promise<void> {
  try {
    await body();
    console.log(`ok ${name}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`not ok ${name}: ${String(error).replaceAll(/\s+/g, " ")}`);
  }
}

export async function refused(status: number, call: () => Promise<unknown>, text = ""): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof GitbeakerRequestError)) throw error;
    equal(error.cause?.response.status, status, `${error.cause?.response.status} ${error.message}`);
    ok(error.message.includes(text), `"${error.message}" does not say "${text}"`);
    return;
  }
  fail(`was not refused with ${status}`);
}

/** A whole PNG of 8 by 8 pixels in one colour. */
export function png(...colour: [number, number, number]): Buffer<ArrayBuffer> {
  const number = (value: number) => Buffer.from(Uint32Array.of(value).buffer).swap32();
  const chunk = (kind: string, data: Buffer) => {
    const named = Buffer.concat([Buffer.from(kind), data]);
    return Buffer.concat([number(data.length), named, number(crc32(named))]);
  };
  const row = Buffer.from([0, ...Array.from({ length: 8 }, () => colour).flat()]);
  const pixels = Buffer.concat(Array.from({ length: 8 }, () => row));
  const header = Buffer.concat([number(8), number(8), Buffer.from([8, 2, 0, 0, 0])]);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(pixels)),
    chunk("IEND", Buffer.of()),
  ]);
}

export const picture = (...colour: [number, number, number]) => ({
  content: new Blob([png(...colour)], { type: "image/png" }),
  filename: "face.png",
});

export const client = (secret = token) => new Gitlab({ host, token: secret });
export const ids = (rows: { id: number }[]) => rows.map((row) => row.id);

/** A new user for a script, and a client that is signed in as that user. */
export async function crew(username: string) {
  const api = client();
  const email = `${username}@example.com`;
  const options = { forceRandomPassword: true, skipConfirmation: true };
  const user = await api.Users.create({ username, name: `Name of ${username}`, email, ...options });
  const made = await api.Users.createPersonalAccessToken(user.id, "crew", ["api"]);
  return { ...user, api: client((made as unknown as { token: string }).token) };
}

/** What the clients for moves of projects, snippets and groups have in common. */
interface Moves {
  schedule(source: string, options: object): Promise<unknown>;
  show(id: number, options?: object): Promise<object>;
  all(options?: object): Promise<object[]>;
}

/** Moves a repository to another storage, and empties that storage again; `of` names what it belongs to. */
export async function movedThereAndBack(moves: Moves, of: object, isStillThere: () => Promise<void>) {
  const { id } = (await moves.schedule("default", { ...of, destinationStorageName: "second" })) as { id: number };
  const state = async () => ((await moves.show(id)) as { state: string }).state;
  for (let tries = 0; tries < 400 && /scheduled|started/.test(await state()); tries++) await pause(50);
  ok(["replicated", "finished"].includes(await state()));
  deepEqual(ids((await moves.all(of)) as { id: number }[]), [id]);
  equal(((await moves.show(id, of)) as { id: number }).id, id);
  await isStillThere();
  deepEqual(await moves.schedule("second", { destinationStorageName: "default" }), { message: "202 Accepted" });
  for (let tries = 0; tries < 400 && (await moves.all(of)).length < 2; tries++) await pause(50);
  equal((await moves.all(of)).length, 2);
}
