import { testApp } from "#test/support/app.ts";
const app = await testApp();
const admin = await app.makeUser({ admin: true });
const u = await app.makeUser();
for (const [m, p, t] of [["GET","/users/abc",undefined],["GET","/users/abc",u.token],["GET","/users/9007199254740993",u.token],["GET","/personal_access_tokens/abc",u.token],["HEAD","/user/personal_access_tokens",u.token],["GET","/user/personal_access_tokens",u.token],["TRACE","/users",u.token],["OPTIONS","/users",undefined],["GET","/users.json",undefined],["GET","/users/1.json",u.token],["GET","//users/1/",u.token],["GET","/users%2F1",u.token],["GET","/USERS",u.token], ["GET","/api/v4/users/%2e%2e/users",u.token]] as const) {
  const r = await app.call(m as any, p, { token: t });
  console.log(m, p, t ? "u" : "-", r.status, r.text.slice(0, 100));
}
let t0 = performance.now();
const n = 2000;
await Promise.all(Array.from({length: 16}, async () => { for (let i=0;i<n/16;i++) await app.get("/users/"+u.id, {token: u.token}); }));
console.log("per s", n / ((performance.now()-t0)/1000));
await app.close();
process.exit(0);
