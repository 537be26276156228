// @gitbeaker/rest 43.8: states, addresses, keys, tokens and service accounts of users.
import { deepEqual, equal, ok } from "node:assert/strict";
import { check, client, crew, ids, refused } from "./gitbeaker-support.ts";

const key = (letter: string) => `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${letter.repeat(43)} beaker@example.com`;

type Token = { id: number; token: string };
const asToken = (body: unknown) => body as Token;

const api = client();
const user = await crew("beaker-identity");
const other = await crew("beaker-followed");
const stateOf = async () => (await api.Users.show(user.id)).state;

await check("states: each move answers true and changes the state", async () => {
  const { Users } = api;
  for (const [move, state] of [
    ["block", "blocked"],
    ["unblock", "active"],
    ["deactivate", "deactivated"],
    ["activate", "active"],
    ["ban", "banned"],
    ["unban", "active"],
  ] as const) {
    deepEqual([await Users[move](user.id), await stateOf()], [true, state], move);
  }
});

await check("addresses: an administrator's and one's own", async () => {
  const email = await api.UserEmails.create("beaker-second@example.com", { userId: user.id, skipConfirmation: true });
  ok(email.confirmed_at);
  deepEqual(ids(await api.UserEmails.all({ userId: user.id })), [email.id]);
  await api.UserEmails.remove(email.id, { userId: user.id });
  const own = await user.api.UserEmails.create("beaker-third@example.com");
  equal((await user.api.UserEmails.show(own.id)).email, "beaker-third@example.com");
  await user.api.UserEmails.remove(own.id);
  deepEqual(await user.api.UserEmails.all(), []);
});

await check("keys: made, found by fingerprint and removed", async () => {
  const made = await user.api.UserSSHKeys.create("laptop", key("K"), { usageType: "auth" });
  deepEqual([made.title, made.key, made["usage_type"]], ["laptop", key("K"), "auth"]);
  deepEqual(ids(await user.api.UserSSHKeys.all()), [made.id]);
  const shown = await api.Keys.show({ keyId: made.id });
  equal((shown as unknown as { user: { username: string } }).user.username, "beaker-identity");
  await refused(400, () => other.api.UserSSHKeys.create("again", key("K")), "taken");
  await user.api.UserSSHKeys.remove(made.id);
  deepEqual(await user.api.UserSSHKeys.all(), []);
});

await check("impersonation tokens", async () => {
  const made = asToken(await api.UserImpersonationTokens.create(user.id, "support", ["api"]));
  equal((await client(made.token).Users.showCurrentUser()).id, user.id);
  deepEqual(ids(await api.UserImpersonationTokens.all(user.id, { state: "active" })), [made.id]);
  equal((await api.UserImpersonationTokens.show(user.id, made.id)).impersonation, true);
  await api.UserImpersonationTokens.revoke(user.id, made.id);
  await refused(401, () => client(made.token).Users.showCurrentUser());
});

await check("custom attributes", async () => {
  await api.UserCustomAttributes.set(user.id, "desk", "door");
  equal((await api.UserCustomAttributes.show(user.id, "desk")).value, "door");
  equal((await api.UserCustomAttributes.all(user.id)).length, 1);
  await api.UserCustomAttributes.remove(user.id, "desk");
  await refused(404, () => api.UserCustomAttributes.show(user.id, "desk"));
});

await check("status, preferences and counts", async () => {
  await user.api.Users.editStatus({ message: "at sea", emoji: "anchor", clearStatusAfter: "3_hours" });
  equal((await api.Users.showStatus({ iDOrUsername: "beaker-identity" })).message, "at sea");
  const changed = await user.api.Users.editCurrentUserPreferences(true, false);
  deepEqual([changed.view_diffs_file_by_file, changed.show_whitespace_in_diffs], [true, false]);
  deepEqual(await user.api.Users.showCurrentUserPreferences(), changed);
  equal((await user.api.Users.showAssociationsCount(user.id)).issues_count, 0);
});

await check("follow and unfollow", async () => {
  equal((await user.api.Users.follow(other.id)).username, "beaker-followed");
  deepEqual(ids(await api.Users.allFollowers(other.id)), [user.id]);
  deepEqual(ids(await api.Users.allFollowing(user.id)), [other.id]);
  await user.api.Users.unfollow(other.id);
  deepEqual(await api.Users.allFollowers(other.id), []);
});

await check("two factors: disabling what is not on is 400", async () => {
  await refused(400, () => api.Users.disableTwoFactor(user.id), "Two-factor authentication is not enabled");
});

await check("service accounts: made, with a token by this client's own path, rotated", async () => {
  const group = await api.Groups.create("Beaker identity", "beaker-identity-group");
  const account = await api.GroupServiceAccounts.create(group.id, { name: "Robot" });
  // Its types have no parameters here, but it sends them.
  const options: object = { name: "deploy", scopes: ["api"] };
  const first = asToken(await api.GroupServiceAccounts.createPersonalAccessToken(group.id, account.id, options));
  const second = asToken(await api.GroupServiceAccounts.rotatePersonalAccessToken(group.id, account.id, first.id));
  equal((await client(second.token).Users.showCurrentUser()).username, account.username);
  await refused(401, () => client(first.token).Users.showCurrentUser());
  const instance = await api.ServiceAccounts.create({ name: "Instance robot" });
  ok(instance.username.startsWith("service_account_"));
});

await check("memberships: what a user is a member of", async () => {
  deepEqual(await api.Users.allMemberships(user.id), []);
});

await check("remove: the user is gone soon after", async () => {
  await api.Users.remove(user.id);
  for (let tries = 0; tries < 100; tries++) {
    const found = await api.Users.show(user.id).catch(() => undefined);
    if (!found) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the user is still there");
});
