import { Gauge, type Registry } from "prom-client";

interface PoolUsage {
  readonly size: number;
  readonly open: number;
  readonly idle: number;
  readonly waiting: number;
}

/** Registers the connections for lists and transactions. */
export function meterPool(registry: Registry, usage: () => PoolUsage) {
  const registers = [registry];
  const gauge = (name: string, help: string, shown: (usage: PoolUsage) => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(shown(usage()));
      },
    });
  gauge("fairlead_db_pool_size", "Connections that the pool may open", ({ size }) => size);
  gauge("fairlead_db_pool_in_use", "Connections that run a statement or transaction", ({ open, idle }) => open - idle);
  gauge("fairlead_db_pool_idle", "Open connections that nothing uses", ({ idle }) => idle);
  gauge("fairlead_db_pool_waiting", "Callers that wait for a connection", ({ waiting }) => waiting);
}
