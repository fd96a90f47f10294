/** Variants of an engine on several nodes: questions between them, partitions that move, and formats of two versions. */
import type { Variant } from "./runner/variant.ts"

export const engineNodes: ReadonlyArray<Variant> = [
  {
    name: "engine: a node of a first start looks at the logs once",
    find: 'if (again._tag === "None" || again.value.some(({ lastSequence }) => lastSequence > 0)) return',
    replace: 'if (again._tag === "None") return',
    sentence: "two nodes that start a new deployment together may refuse each other's logs as lost",
    finders: ["belonging.unit"]
  },
  {
    name: "remote: an owner is subscribed before it serves",
    find: 'while (partition.status._tag !== "Serving") yield* changed.wait',
    replace: "while (partition.log === undefined) yield* changed.wait",
    sentence: "a successor that still recovers tells callers that nothing was stored while the old owner stores it",
    finders: ["owners"]
  },
  {
    name: "remote: the epoch that a request names is ignored",
    find: "if (meant !== epoch)",
    replace: "if (meant === 0)",
    sentence: "a request that reaches two owners is worked on by both",
    finders: ["owners"]
  },
  {
    name: "remote: a question of one life is worked on in the next",
    find: "if (!isServing(partition, epoch))",
    replace: "if (partition.isClosing)",
    sentence: "a request that was given up, and asked of the next owner, is decided twice",
    finders: ["remote.unit", "owners"]
  },
  {
    name: "remote: a request that is delivered twice is worked on twice",
    find: "if (!partition.context.traffic.isFirst([from, number])) continue",
    replace: "if (!partition.context.traffic.isFirst([from, number]) && epoch < 0) continue",
    sentence: "a message that the network repeats is decided a second time",
    finders: ["owners"]
  },
  {
    name: "remote: a request turns to a newer owner whenever it came",
    find: "said.forMillis !== undefined && said.forMillis <=",
    replace: "said.forMillis !== undefined && Number.POSITIVE_INFINITY <=",
    sentence: "a request that was long on its way is stored by the owner before and decided again by the next one",
    finders: ["remoteTurns.unit"]
  },
  {
    name: "remote: a partition stops when the sight of its lock is lost",
    find: "return isUncertain(partition) && !hasLeft ? Effect.void : stop(partition)",
    replace: "return stop(partition)",
    sentence: "while PostgreSQL is away nothing is answered",
    finders: ["owners"]
  },
  {
    name: "remote: a shared partition that is fenced three times stops for good",
    find: "if (partition.context.placement.isShared === true) {",
    replace: "if (false as boolean) {",
    sentence: "after a busy minute a partition is served by nobody until somebody restarts its node",
    finders: ["ownership.unit", "owners"]
  },
  {
    name: "formats: the level passes what a node knows",
    find: "Math.max(inForce, Math.min(...known))",
    replace: "Math.max(inForce, Math.max(...known))",
    sentence: "facts of a new version are written while an older node may get the partition next",
    finders: ["formatLevels.unit", "owners"]
  },
  {
    name: "formats: the level falls",
    find: "Math.max(inForce, Math.min(...known))",
    replace: "Math.min(...known)",
    sentence: "an older program that came back too late is let in again, and cannot read what was written",
    finders: ["owners"]
  },
  {
    name: "nodes: a refused act counts as done",
    find: "said.error === undefined ? Effect.succeed<Done>(said)",
    replace: "said.error !== said ? Effect.succeed<Done>(said)",
    sentence:
      "while a partition moves, the view of the cluster is 500, and an operator's act seems to have been carried out",
    finders: ["remote.unit"]
  }
]
