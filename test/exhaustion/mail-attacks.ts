import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Attack, Outcome } from "./attack.ts";
import { until } from "./attack.ts";
import type { Fixture } from "./fixture.ts";
import { hostileApi } from "./hostile-clients.ts";

const CLUSTERS = 30;
const PEOPLE = 60;
const COMMENTS = 40;
const MAX_MAIL_SECONDS = 10;
/** How long somebody waits for a mail that is late. */
const MAX_WAIT_MS = 60_000;

/** Attacks on the queues that mail goes through. */
export const MAIL_ATTACKS: readonly Attack[] = [
  {
    name: "probes of a silent host",
    async run(fixture, deadline) {
      const silent = await silentHost();
      const api = hostileApi(fixture);
      const { token } = fixture.attacker;
      const project = await makeProject(fixture);
      const attributes = { api_url: `http://127.0.0.1:${silent.port}`, token: "secret" };
      for (let n = 0; n < CLUSTERS; n++) {
        const body = { name: `c${n}`, environment_scope: `e${n}`, platform_kubernetes_attributes: attributes };
        const path = `/projects/${project}/clusters`;
        const { id } = await fixture.installation.call<{ id: number }>("POST", `${path}/user`, { token, body });
        await api.send({ path: `${path}/${id}/probe`, method: "POST", token });
      }
      // By somebody else: the other attack may have used up the attacker's mail of the hour.
      const outcome = await mailToSomebody(fixture, "is mentioned", (person) =>
        mention(fixture, fixture.honest, project, [person]),
      );
      await until(deadline);
      api.close();
      await silent.close();
      return { ...outcome, saw: `${silent.connections()} connections, ${outcome.saw}` };
    },
  },
  {
    name: "mentions of many people",
    async run(fixture, deadline) {
      const project = await makeProject(fixture);
      const people = await makePeople(fixture, PEOPLE);
      for (let n = 0; n < COMMENTS; n++) await mention(fixture, fixture.attacker, project, people);
      const outcome = await mailToSomebody(fixture, "forgot the password", ({ email }) => requestReset(fixture, email));
      await until(deadline);
      return outcome;
    },
  },
];

interface Person {
  readonly username: string;
  readonly email: string;
}

async function makePeople({ installation }: Fixture, count: number): Promise<Person[]> {
  const people = Array.from({ length: count }, () => `p${randomUUID().slice(0, 12)}`).map((username) => ({
    username,
    email: `${username}@example.com`,
  }));
  for (const person of people) {
    const body = { ...person, name: person.username, force_random_password: true, skip_confirmation: true };
    await installation.call("POST", "/users", { body });
  }
  return people;
}

async function makeProject({ installation, attacker: { token } }: Fixture): Promise<number> {
  const body = { name: `m${randomUUID().slice(0, 12)}`, visibility: "public" };
  const { id } = await installation.call<{ id: number }>("POST", "/projects", { token, body });
  await installation.call("POST", `/projects/${id}/issues`, { token, body: { title: "Discussed" } });
  return id;
}

async function mention(
  { installation }: Fixture,
  { token }: Pick<Fixture["attacker"], "token">,
  project: number,
  people: readonly Person[],
) {
  const body = { body: people.map(({ username }) => `@${username}`).join(" ") };
  await installation.call("POST", `/projects/${project}/issues/1/notes`, { token, body });
}

async function requestReset({ installation }: Fixture, email: string) {
  const { url } = installation.server();
  await fetch(`${url}/-/account/forgotten`, { method: "POST", body: new URLSearchParams({ email }) });
}

/** How long a mail takes to a person to whom something happens during the attack. */
async function mailToSomebody(
  fixture: Fixture,
  event: string,
  happens: (person: Person) => Promise<void>,
): Promise<Outcome> {
  const [person] = await makePeople(fixture, 1);
  if (!person) throw new Error("nobody was created");
  const began = Date.now();
  await happens(person);
  const arrived = () => fixture.smtp.received.some(({ to }) => to.includes(person.email));
  while (!arrived() && Date.now() < began + MAX_WAIT_MS) await pause(100);
  const seconds = (Date.now() - began) / 1000;
  const saw = `who ${event} got mail after ${seconds.toFixed(1)} s`;
  return { saw, problems: seconds > MAX_MAIL_SECONDS ? [saw] : [] };
}

/** A host that accepts connections and says nothing. */
async function silentHost() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on("error", () => {})));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    connections: () => sockets.length,
    async close() {
      for (const socket of sockets) socket.destroy();
      await once(server.close(), "close");
    },
  };
}
