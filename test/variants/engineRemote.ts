/** Variants of asks between processes. */
import type { Finder, Variant } from "./runner/variant.ts"

const owners: Finder = { kind: "unit", files: ["test/engine/remote.unit.ts", "test/engine/owners.sim.ts"] }
const file = "src/engine/shell/remoteServing.ts"

export const engineRemote: ReadonlyArray<Variant> = [
  {
    name: "remote: an owner is subscribed before it serves",
    file,
    find: `while (partition.status._tag !== "Serving") yield* changed.wait`,
    replace: `while (partition.log === undefined) yield* changed.wait`,
    sentence: "a successor that still recovers tells callers that nothing was stored while the old owner stores it",
    finders: [owners]
  },
  {
    name: "remote: the epoch that a request names is ignored",
    file,
    find: "if (meant !== epoch)",
    replace: "if (meant === 0)",
    sentence: "a request that reaches two owners is worked on by both",
    finders: [owners]
  },
  {
    name: "remote: answered questions stay counted",
    file,
    find: "Effect.sync(() => void traffic.answers--)",
    replace: "Effect.void",
    sentence: "after some thousands of questions a process answers others no more",
    finders: [owners]
  },
  {
    name: "remote: a question of one life is worked on in the next",
    file,
    find: "if (!isServing(partition, epoch))",
    replace: "if (partition.isClosing)",
    sentence: "a request that was given up, and asked of the next owner, is decided twice",
    finders: [owners]
  }
]
