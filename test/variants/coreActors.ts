/** Variants of the engine's core alone: actors that are not loaded, and those that come and go early. */
import { simulation, src, unit } from "./engineFinders.ts"
import type { Variant } from "./runner/variant.ts"

export const coreActors: ReadonlyArray<Variant> = [
  {
    name: "core: a frame does not say that an actor begins anew",
    file: src("core/Draft"),
    find: "const isFresh = cell.freshOf === this.stamp",
    replace: "const isFresh = false",
    sentence: "after a restart an actor has the facts of two lives",
    finders: [unit("freshActors"), simulation]
  },
  {
    name: "core: a replay folds a fresh actor over what was before",
    file: src("core/replay"),
    find: "    if (of.isFresh && !this.begun.has(of)) this.beginAnew(cell, of)\n",
    replace: "",
    sentence: "after a restart an actor has the facts of two lives",
    finders: [unit("freshActors"), simulation]
  },
  {
    name: "core: a replay begins a fresh actor anew with each of its facts",
    file: src("core/replay"),
    find: "if (of.isFresh && !this.begun.has(of)) this.beginAnew",
    replace: "if (of.isFresh) this.beginAnew",
    sentence: "after a restart a new actor has only its last fact",
    finders: [simulation, unit("freshActors")]
  },
  {
    name: "core: a claim is believed against what is in memory",
    file: src("core/Decider"),
    find: "      draft.checkClaims(touched, encoded)\n",
    replace: "",
    sentence: "facts are added to an actor that a replay lets begin anew",
    finders: [unit("freshActors"), simulation]
  },
  {
    name: "core: a claim without facts stays",
    file: src("core/ActorLoader"),
    find: "      this.options.memory.passes(cell)\n      cell.state = cell.actor.options.initial(cell.key)",
    replace: "      cell.state = cell.actor.options.initial(cell.key)",
    sentence: "ids that were only looked for fill the memory",
    finders: [unit("freshActors")]
  },
  {
    name: "core: the timer of the row before a fresh actor stays",
    file: src("core/Draft"),
    find: "        timers.loaded(cell)\n",
    replace: "",
    sentence: "an actor that began anew is looked at when its old alarm rings",
    finders: [unit("freshActors")]
  },
  {
    name: "core: a fresh actor's state is shown before it is stored",
    file: src("core/Decider"),
    find: "        if (!this.host.load(cell)) return this.stall(entry, cell)\n        return this.answerNow",
    replace: "        if (!this.gathering.bring(cell)) return this.stall(entry, cell)\n        return this.answerNow",
    sentence: "a query of an actor that exists is answered as if it did not",
    finders: [unit("freshActors"), simulation]
  },
  {
    name: "core: a batch that failed takes a fresh actor along",
    file: src("core/ActorLoader"),
    find: "if (!memory.isPassing(cell)) memory.remove(cell)",
    replace: "memory.remove(cell)",
    sentence: "the facts of a new actor are in no checkpoint",
    finders: [unit("freshActors")]
  },
  {
    name: "core: an actor without a state is loaded",
    file: src("core/ActorLoader"),
    find: "    if (cell.actor.isStateless) return this.pass(cell)\n",
    replace: "",
    sentence: "each lookup of an organization reads the database first",
    finders: [unit("statelessActors")]
  },
  {
    name: "core: an actor without a state stays in memory",
    file: src("core/ActorMemory"),
    find: "if (cell.isEmpty || cell.actor.isStateless) this.remove(cell)",
    replace: "if (cell.isEmpty) this.remove(cell)",
    sentence: "actors that hold nothing fill the memory",
    finders: [unit("statelessActors")]
  },
  {
    name: "core: a replay folds actors without a state",
    file: src("core/replay"),
    find: "    if (actor.isStateless) return undefined\n",
    replace: "",
    sentence: "a partition with such facts does not start",
    finders: [unit("statelessActors"), simulation]
  },
  {
    name: "core: rows of kinds that keep none stay",
    file: "src/engine/shell/checkpointing.ts",
    find: "partition.earlierRows === 0 ? [] : partition.parts.registry.statelessKinds",
    replace: "[]",
    sentence: "what an earlier program stored of a kind stays for ever",
    finders: [unit("statelessActors")]
  },
  {
    name: "core: a prefetch knows no share",
    file: src("core/loads"),
    find: "prefetched < maximumPrefetchedActors && this.wanted.length < maximumLoadBatch",
    replace: "prefetched < Number.POSITIVE_INFINITY",
    sentence: "one organization fills the memory with what it may need",
    finders: [unit("prefetch")]
  },
  {
    name: "core: a prefetch that ended still counts",
    file: src("core/loads"),
    find: "      if (cell.isAhead) cell.organization.prefetched--\n",
    replace: "",
    sentence: "after some time nothing is loaded ahead any more",
    finders: [unit("prefetch")]
  },
  {
    name: "core: what a command touches is asked for only when its own actor is there",
    file: src("core/Decider"),
    find: "        if (!isWake) this.host.prefetch(entry)\n",
    replace: "",
    sentence: "a command waits for two reads, one after the other",
    finders: [unit("prefetch")]
  },
  {
    name: "core: a drain that touches many actors looks at its time as if they were few",
    file: src("core/Decider"),
    find: "return this.draft.measured + Math.floor(this.gathering.touchedCount / touchedPerLook)",
    replace: "return this.draft.measured",
    sentence: "commands over many actors hold up a partition",
    finders: [unit("prefetch")]
  },
  {
    name: "core: kinds that leave early stay",
    file: src("core/ActorMemory"),
    find: "    this.late = [...this.leaving].filter((cell) => !this.leave(cell))\n",
    replace: "",
    sentence: "actors that nobody needs again fill the memory for minutes",
    finders: [unit("leavesMemory")]
  },
  {
    name: "core: what was in use at a checkpoint does not leave after it",
    file: src("core/ActorMemory"),
    find: "this.late.length > 0",
    replace: "this.late.length > 1_000_000",
    sentence: "busy actors that nobody needs again stay until the next checkpoint",
    finders: [unit("leavesMemory")]
  },
  {
    name: "core: a state near its bound is encoded with every fact",
    file: src("core/Draft"),
    find: "cell.bytes = Math.min(bytes, maximumStateBytes - stateSlackBytes)",
    replace: "cell.bytes = Math.min(bytes, maximumStateBytes)",
    sentence: "a large actor is written as JSON for each of its facts",
    finders: [unit("bounds")]
  },
  {
    name: "core: a large state is measured once",
    file: src("core/Draft"),
    find: "cell.bytes = Math.min(bytes, maximumStateBytes - stateSlackBytes)",
    replace: "cell.bytes = 0",
    sentence: "a state grows to twice its bound",
    finders: [unit("bounds")]
  }
]
