// @gitbeaker/rest 43.8 against a running server, called the way its documentation shows.
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { Gitlab } from "@gitbeaker/rest";
import { check, client, host, ids, perPage, png, refused, token } from "./gitbeaker-support.ts";

const people = 12;
const in30Days = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);

const person = (number: number) => {
  const padded = String(number).padStart(2, "0");
  const username = `beaker-${padded}`;
  const options = { forceRandomPassword: true, skipConfirmation: true };
  return { username, name: `Beakerist Number${padded}`, email: `${username}@example.com`, ...options };
};
const names = (rows: { username: string }[]) => rows.map((row) => row.username);

type Token = { id: number; token: string; scopes: string[]; expires_at: string; revoked: boolean };
const asToken = (body: unknown) => body as Token;

const api = client();
const made: number[] = [];
let first: Token;
let rotated: Token;

await check("sign-in: showCurrentUser finds the administrator", async () => {
  const user = await api.Users.showCurrentUser({ asAdmin: true });
  deepEqual([user.id, user.username, user.is_admin, user.web_url], [1, "root", true, `${host}/root`]);
});

await check("sign-in: the same token as oauthToken, and a host that makes a double slash", async () => {
  equal((await new Gitlab({ host, oauthToken: token }).Users.showCurrentUser()).id, 1);
  equal((await new Gitlab({ host: `${host}/`, token }).Users.showCurrentUser()).id, 1);
});

await check("sign-in: a wrong token is a request error with 401", async () => {
  await refused(401, () => client("flpat-wrong").Users.showCurrentUser(), "401 Unauthorized");
  await refused(401, () => new Gitlab({ host, oauthToken: "flpat-wrong" }).Users.showCurrentUser());
});

await check("version: Metadata.show and /version agree", async () => {
  const metadata = await api.Metadata.show();
  const version = await api.Metadata.requester.get("version");
  equal(metadata.version, "18.2.0");
  equal((version.body as { revision: string }).revision, metadata.revision);
});

await check("create: Users.create answers the whole user", async () => {
  for (let number = 1; number <= people; number += 1) {
    const user = await api.Users.create(person(number));
    deepEqual([user.username, user.email, user.state], [person(number).username, person(number).email, "active"]);
    made.push(user.id);
  }
  equal(new Set(made).size, people);
});

await check("create: a taken username or email is a conflict", async () => {
  const takenEmail = { ...person(91), email: "beaker-01@example.com" };
  await refused(409, () => api.Users.create(takenEmail), "Email has already been taken");
  await refused(
    409,
    () => api.Users.create({ ...person(91), username: "Beaker-01" }),
    "Username has already been taken",
  );
});

await check("create: parameter and validation errors can be read", async () => {
  await refused(400, () => api.Users.create({ username: "x", name: "x" }), "email is missing");
  const { forceRandomPassword: _, ...fields } = person(91);
  await refused(
    400,
    () => api.Users.create({ ...fields, password: "short" }),
    "is too short (minimum is 8 characters)",
  );
});

await check("get: Users.show and the 404 of an unknown id", async () => {
  equal((await api.Users.show(made[0]!, { asAdmin: true })).email, "beaker-01@example.com");
  await refused(404, () => api.Users.show(999_999_999), "404 User Not Found");
});

await check("list by offset: all() follows every page", async () => {
  const found = await api.Users.all({ search: "Beakerist", orderBy: "created_at", sort: "asc", perPage });
  deepEqual(ids(found), made);
  const two = await api.Users.all({ search: "Beakerist", orderBy: "created_at", sort: "asc", perPage, maxPages: 2 });
  deepEqual(ids(two), made.slice(0, 2 * perPage));
});

await check("list by offset: one page with its totals", async () => {
  const page = (number: number) => api.Users.all({ search: "Beakerist", perPage, page: number, showExpanded: true });
  const middle = await page(2);
  equal(middle.data.length, perPage);
  const expected = { total: people, next: 3, current: 2, previous: 1, perPage, totalPages: 3 };
  deepEqual(middle.paginationInfo, expected);
  const last = await page(3);
  deepEqual([last.data.length, last.paginationInfo.next, last.paginationInfo.previous], [2, null, 2]);
  equal((await page(9)).data.length, 0);
});

await check("list by keyset: all() sees every row once", async () => {
  const everybody = ids(await api.Users.all({ perPage: 100 })).toSorted((a, b) => a - b);
  const found = await api.Users.all({ pagination: "keyset", perPage });
  deepEqual(ids(found), everybody.toReversed());
  const byName = { pagination: "keyset", perPage, search: "Beakerist", orderBy: "name", sort: "asc" } as const;
  deepEqual(ids(await api.Users.all(byName)), made);
});

await check("search: by words of the name, by username, by email", async () => {
  for (const search of ["beakerist number07", "beaker-07", "beaker-07@example.com"]) {
    deepEqual(names(await api.Users.all({ search })), ["beaker-07"]);
  }
  deepEqual(names(await api.Users.all({ username: "BEAKER-07" })), ["beaker-07"]);
  deepEqual(await api.Users.all({ search: "nobody at all" }), []);
});

await check("filters: blocked, active and external", async () => {
  const blocked = names(await api.Users.all({ blocked: true }));
  const active = names(await api.Users.all({ active: true }));
  deepEqual([blocked.includes("fixture-blocked"), blocked.includes("beaker-01")], [true, false]);
  deepEqual([active.includes("fixture-blocked"), active.includes("beaker-01")], [false, true]);
  await api.Users.create({ ...person(92), name: "Stranger 92", external: true });
  equal((await api.Users.all({ username: "beaker-92", external: true })).length, 1);
  equal((await api.Users.all({ username: "beaker-92", excludeExternal: true })).length, 0);
});

await check("filters: externUid with provider", async () => {
  const identity = { externUid: "beaker-uid-93", provider: "github" };
  const { id } = await api.Users.create({ ...person(93), name: "Identity 93", ...identity });
  deepEqual(ids(await api.Users.all(identity)), [id]);
});

await check("filters: customAttributes as an object", async () => {
  deepEqual(names(await api.Users.all({ customAttributes: { desk: "window" } })), ["fixture-window"]);
  const [door] = await api.Users.all({ username: "fixture-door", withCustomAttributes: true });
  deepEqual(door?.custom_attributes, [{ key: "desk", value: "door" }]);
});

await check("save: Users.edit is multipart with camel case names", async () => {
  const fields = { bio: "Mixes things", projectsLimit: 7, canCreateGroup: false, viewDiffsFileByFile: true };
  const edited = await api.Users.edit(made[1]!, { ...fields, email: "beaker-02@example.com" });
  deepEqual([edited.bio, edited.projects_limit, edited.can_create_group], ["Mixes things", 7, false]);
  const again = await api.Users.show(made[1]!, { asAdmin: true });
  deepEqual([again.bio, again.email, again.username], ["Mixes things", "beaker-02@example.com", "beaker-02"]);
});

await check("save: a taken username is a conflict, an unknown user a 404", async () => {
  await refused(409, () => api.Users.edit(made[1]!, { username: "beaker-01" }), "Username has already been taken");
  await refused(404, () => api.Users.edit(999_999_999, { name: "x" }), "404 User Not Found");
});

await check("save: boolean forms in JSON", async () => {
  const save = (fields: object) => api.Users.requester.put(`users/${made[2]}`, { body: { ...fields } });
  const saved = async (privateProfile: unknown) =>
    (await save({ privateProfile })).body as { private_profile: boolean };
  for (const yes of [true, 1, "true", "True", "1"]) equal((await saved(yes)).private_profile, true);
  for (const no of [false, 0, "false", "False", "0"]) equal((await saved(no)).private_profile, false);
  await refused(400, () => save({ external: "perhaps" }), "external is invalid");
});

await check("avatar: Users.edit uploads it, and it can be fetched", async () => {
  const image = png(200, 0, 200);
  const content = new Blob([image], { type: "image/png" });
  const user = await api.Users.edit(made[3]!, { avatar: { content, filename: "face.png" }, bio: "With a face" });
  equal(user.bio, "With a face");
  const address = user.avatar_url;
  ok(address.startsWith(`${host}/uploads/-/system/user/avatar/${made[3]}/`), address);
  const answer = await fetch(address);
  deepEqual([answer.status, answer.headers.get("content-type")], [200, "image/png"]);
  ok(image.equals(await answer.bytes()), "the image came back changed");
});

await check("avatar: what is not an image is refused", async () => {
  const avatar = { content: new Blob(["just words"], { type: "image/png" }), filename: "face.png" };
  await refused(400, () => api.Users.edit(made[3]!, { avatar }));
});

await check("tokens: an administrator makes one for a user, who signs in with it", async () => {
  const scopes = ["api", "read_user"];
  first = asToken(await api.PersonalAccessTokens.create(made[0]!, "beaker", scopes, { expiresAt: in30Days }));
  deepEqual([first.scopes, first.expires_at], [scopes, in30Days]);
  match(first.token, /^flpat-/);
  equal((await client(first.token).Users.showCurrentUser()).username, "beaker-01");
  const other = asToken(await api.Users.createPersonalAccessToken(made[1]!, "other", ["read_api"]));
  equal((await client(other.token).Users.showCurrentUser()).username, "beaker-02");
});

await check("tokens: list, by id and self", async () => {
  const found = await api.PersonalAccessTokens.all({ userId: made[0]! });
  deepEqual(ids(found), [first.id]);
  ok(!("token" in found[0]!), "a list shows the secret");
  equal((await api.PersonalAccessTokens.show({ tokenId: first.id })).user_id, made[0]);
  equal((await client(first.token).PersonalAccessTokens.show()).id, first.id);
  await refused(404, () => api.PersonalAccessTokens.show({ tokenId: 999_999_999 }));
});

await check("tokens: a user makes one of a narrow scope, and only of that", async () => {
  const { requester } = client(first.token).Users;
  const path = "user/personal_access_tokens";
  const { body } = await requester.post(path, {
    body: { name: "cluster", scopes: ["k8s_proxy"], expiresAt: in30Days },
  });
  const narrow = asToken(body);
  deepEqual([narrow.scopes, narrow.expires_at], [["k8s_proxy"], in30Days]);
  await refused(403, () => client(narrow.token).Users.showCurrentUser(), "insufficient_scope");
  await refused(400, () => requester.post(path, { body: { name: "wide", scopes: ["api"] } }));
});

await check("tokens: rotate gives a new secret and ends the old one", async () => {
  rotated = asToken(await api.PersonalAccessTokens.rotate(first.id, { expiresAt: in30Days }));
  notEqual(rotated.id, first.id);
  notEqual(rotated.token, first.token);
  deepEqual([rotated.scopes, rotated.expires_at], [first.scopes, in30Days]);
  await refused(401, () => client(first.token).Users.showCurrentUser(), "invalid_token");
  equal((await client(rotated.token).Users.showCurrentUser()).id, made[0]);
});

await check("tokens: a self_rotate token rotates itself", async () => {
  const body = { name: "turning", scopes: ["self_rotate"] };
  const turning = asToken(
    (await client(rotated.token).Users.requester.post("user/personal_access_tokens", { body })).body,
  );
  const turned = asToken(await client(turning.token).PersonalAccessTokens.rotate("self"));
  deepEqual(turned.scopes, ["self_rotate"]);
  await refused(401, () => client(turning.token).Users.showCurrentUser());
});

await check("tokens: remove revokes by id, with a JSON body on DELETE, and the token is refused", async () => {
  await api.PersonalAccessTokens.remove({ tokenId: rotated.id });
  await refused(401, () => client(rotated.token).Users.showCurrentUser(), "invalid_token");
  equal((await api.PersonalAccessTokens.show({ tokenId: rotated.id })).revoked, true);
});

await check("tokens: remove without an id revokes the token itself", async () => {
  const leaving = asToken(await api.PersonalAccessTokens.create(made[0]!, "leaving", ["api"]));
  await client(leaving.token).PersonalAccessTokens.remove();
  await refused(401, () => client(leaving.token).Users.showCurrentUser(), "invalid_token");
});

await check("sudo: by username and by id, with the rights of that user", async () => {
  for (const sudo of ["beaker-05", made[4]!]) {
    equal((await api.Users.showCurrentUser({ sudo })).id, made[4]);
  }
  equal((await new Gitlab({ host, token, sudo: "beaker-05" }).Users.showCurrentUser()).id, made[4]);
  await refused(403, () => api.Users.create({ ...person(94), sudo: "beaker-05" }), "403 Forbidden");
  await refused(404, () => api.Users.showCurrentUser({ sudo: "nobody-at-all" }));
});
