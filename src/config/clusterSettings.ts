/** Defines the settings of several machines (docs/cluster.md), for the table in `settings.ts`. */
import { integer, oneOf, text } from "./kinds.ts"

export const clusterSettings = {
  placement: oneOf(["machine", "cluster"])({
    env: "SLUICE_PLACEMENT",
    fallback: "machine",
    description:
      "Whether this process runs all partitions, or shares them with others on the same DATABASE_URL and NATS_URL"
  }),
  role: oneOf(["all", "api", "engine"])({
    env: "SLUICE_ROLE",
    fallback: "all",
    description: "Work of a node of a cluster: everything, requests without partitions, or partitions without requests"
  }),
  workers: integer(
    1,
    64
  )({
    env: "SLUICE_WORKERS",
    fallback: "1",
    description: "Processes that serve on this machine behind one port, and share its partitions; each uses one core"
  }),
  node: text({
    env: "SLUICE_NODE",
    description: "Name of a node of a cluster, which no other one has; default: the machine's name and the process id"
  })
} as const
