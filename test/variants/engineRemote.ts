/** Variants of asks between processes. */
import type { Finder, Variant } from "./runner/variant.ts"

const unit: Finder = { kind: "unit", files: ["test/engine/remote.unit.ts"] }
const owners: Finder = { kind: "owners" }
const tenure = "src/engine/Tenure.ts"
const file = "src/engine/shell/remoteServing.ts"
const formats = "src/common/formats.ts"
const attendance = "src/engine/Attendance.ts"

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
    find: "    this.left--\n    this.partition.parts.traffic.answers--",
    replace: "    this.left--",
    sentence: "after some thousands of questions a process answers others no more",
    finders: [unit]
  },
  {
    name: "remote: a question of one life is worked on in the next",
    file,
    find: "if (!isServing(partition, epoch))",
    replace: "if (partition.isClosing)",
    sentence: "a request that was given up, and asked of the next owner, is decided twice",
    finders: [unit, owners]
  },
  {
    name: "remote: a request that is delivered twice is worked on twice",
    file,
    find: "if (!partition.parts.traffic.isFirst([from, number])) continue",
    replace: "if (!partition.parts.traffic.isFirst([from, number]) && epoch < 0) continue",
    sentence: "a message that the network repeats is decided a second time",
    finders: [owners]
  },
  {
    name: "remote: a request turns to a newer owner whenever it came",
    file: "src/engine/shell/remoteAnswers.ts",
    find: "said.forMillis !== undefined && said.forMillis <=",
    replace: "said.forMillis !== undefined && Number.POSITIVE_INFINITY <=",
    sentence: "a request that was long on its way is stored by the owner before and decided again by the next one",
    finders: [{ kind: "unit", files: ["test/engine/remoteTurns.unit.ts"] }]
  },
  {
    name: "remote: a partition that is placed again is started a second time",
    file: tenure,
    find: "run(partition, serve(partition), { onlyIfMissing: true })",
    replace: "run(partition, serve(partition))",
    sentence: "a node that sees its locks again restarts what it serves",
    finders: [owners]
  },
  {
    name: "remote: a partition that comes back does not wait until it has gone",
    file: tenure,
    find: "return turn.withPermits(1)(effect)",
    replace: "return Effect.as(turn.withPermits(0)(effect), undefined)",
    sentence: "two lives of a partition run in one process, or none",
    finders: [owners]
  },
  {
    name: "remote: a partition stops when the sight of its lock is lost",
    file: tenure,
    find: "return isUncertain(partition) && !hasLeft ? Effect.void : stop(partition)",
    replace: "return stop(partition)",
    sentence: "while PostgreSQL is away nothing is answered",
    finders: [owners]
  },
  {
    name: "remote: a late note of another node stays",
    file: tenure,
    find: "if (monotonic() - since < settledMillis) return Effect.succeed(false)",
    replace: "if (monotonic() - since >= 0) return Effect.succeed(false)",
    sentence: "a partition whose owner was fenced once is served by nobody for ever",
    finders: [owners]
  },
  {
    name: "remote: a shared partition that is fenced three times stops for good",
    file: "src/engine/shell/supervising.ts",
    find: "if (partition.parts.placement.isShared === true) {",
    replace: "if (false as boolean) {",
    sentence: "after a busy minute a partition is served by nobody until somebody restarts its node",
    finders: [{ kind: "unit", files: ["test/engine/ownership.unit.ts"] }, owners]
  },
  {
    name: "formats: the level passes what a node knows",
    file: formats,
    find: "Math.max(inForce, Math.min(...known))",
    replace: "Math.max(inForce, Math.max(...known))",
    sentence: "facts of a new version are written while an older node may get the partition next",
    finders: [{ kind: "unit", files: ["test/common/formats.unit.ts"] }, owners]
  },
  {
    name: "formats: the level falls",
    file: formats,
    find: "Math.max(inForce, Math.min(...known))",
    replace: "Math.min(...known)",
    sentence: "an older program that came back too late is let in again, and cannot read what was written",
    finders: [owners]
  },
  {
    name: "formats: who has just come back leaves silent nodes out",
    file: attendance,
    find: "options.raise(millis >= attendedMillis)",
    replace: "options.raise(millis >= 0)",
    sentence: "after a minute without PostgreSQL the first node that is back goes on without the others, which end",
    finders: [owners]
  },
  {
    name: "formats: a node does not notice that it is outdated",
    file: attendance,
    find: "const refused = yield* Effect.result(seen.saw(inForce))",
    replace: "const refused = yield* Effect.result(Effect.void as ReturnType<typeof seen.saw>)",
    sentence: "an older program that stood still for long goes on beside formats that it cannot read",
    finders: [owners]
  },
  {
    name: "formats: a node takes partitions whatever is in force",
    file: "src/postgres/cluster/nodes.ts",
    find: "([row]) => formats.saw(row?.inForce ?? formatLevels.first)",
    replace: "() => Effect.void",
    sentence: "an older program that stood still for long begins a log that newer ones have written to",
    finders: [{ kind: "servers", files: ["test/postgres/cluster/formats.it.ts"] }]
  }
]
