/** Variants of the partition as a state machine: its lives, its room, its proofs and its loads. */
import type { Variant } from "./runner/variant.ts"

export const engineCore: ReadonlyArray<Variant> = [
  {
    name: "core: signals of a life before are decided again in the next",
    find: "readonly signals = new SignalQueue()",
    replace: "static readonly kept = new SignalQueue()\n  readonly signals = Life.kept",
    sentence: "a signal that was read before a restart counts twice",
    finders: ["coreLives.unit"]
  },
  {
    name: "core: what was read on before a claim replaces what was read before",
    find: "this.life.pace.bytesSince + bytes, log.maximumBytes",
    replace: "bytes, log.maximumBytes",
    sentence: "a checkpoint is taken later than its bytes say",
    finders: ["coreLives.unit"]
  },
  {
    name: "core: what is on its way fails like what is not",
    find: "const unknown = this.life.underWay === undefined ? error : new OutcomeUnknown({ partition })",
    replace: "const unknown = error",
    sentence: "a caller is told that nothing was stored although its frame may be",
    finders: ["coreLives.unit"]
  },
  {
    name: "core: a mark is written into a log that is full",
    find: "(!this.life.provesByFrames || this.life.room.isFull)) return",
    replace: "!this.life.provesByFrames) return",
    sentence: "where leaders may be deposed a full log uses up the room that its claims need",
    finders: ["coreDemands.unit", "coreRoom.unit"]
  },
  {
    name: "core: a fence says that the signals of its frame are decided",
    find: "const fenceHeader = { ...place, ...placesOf(head) }",
    replace: "const fenceHeader = header",
    sentence: "a signal whose frame was refused is never decided after a restart",
    finders: ["coreDemands.unit", "coreRoom.unit"]
  },
  {
    name: "core: answers without facts go out with a frame whatever the proof",
    find: "if (this.life.time.isFresh(this.now)) this.life.drain.immediate.give(this.options.host.reply) return this.life.underWay",
    replace: "this.life.drain.immediate.give(this.options.host.reply)\n    return this.life.underWay",
    sentence: "an owner that was replaced answers once more from its old state",
    finders: ["coreDemands.unit", "coreRoom.unit"]
  },
  {
    name: "core: stored frames do not fill the log",
    find: "this.life.room.stored(bytes.length) if (provenAt",
    replace: "if (provenAt",
    sentence: "facts are sent into a log that is full, and take the room of claims",
    finders: ["coreDemands.unit", "coreRoom.unit"]
  },
  {
    name: "core: a lost connection counts as a full log",
    find: 'if (outcome._tag !== "Not sent") this.logIsFull(true)',
    replace: "this.logIsFull(true)",
    sentence: "after a reconnection facts are refused for a second",
    finders: ["coreDemands.unit", "coreRoom.unit"]
  },
  {
    name: "core: a leader that may be deposed proves",
    find: "if (this.life.provesByFrames && !this.life.room.isFull) this.life.time.seen(begunAt) else",
    replace: "",
    sentence: "an owner that was replaced answers from its old state because a deposed leader agrees",
    finders: ["coreDemands.unit", "coreRoom.unit"]
  },
  {
    name: "core: answers whose proof has failed wait on",
    find: "this.life.drain.immediate.fail(host.reply, error) for (const ask of this.lanes",
    replace: "for (const ask of this.lanes",
    sentence: "a query waits for as long as the log is away",
    finders: ["coreDemands.unit", "coreRoom.unit"]
  },
  {
    name: "core: a frame does not say that an actor begins anew",
    find: "const isFresh = cell.freshOf === this.stamp",
    replace: "const isFresh = false",
    sentence: "after a restart an actor has the facts of two lives",
    finders: ["freshActors.unit", "simulation"]
  },
  {
    name: "core: a replay folds a fresh actor over what was before",
    find: "if (of.isFresh && !this.begun.has(of)) this.beginAnew(cell, of)",
    replace: "",
    sentence: "after a restart an actor has the facts of two lives",
    finders: ["freshActors.unit", "simulation"]
  },
  {
    name: "core: a claim is believed against what is in memory",
    find: "draft.checkClaims(touched, encoded)",
    replace: "",
    sentence: "facts are added to an actor that a replay lets begin anew",
    finders: ["freshActors.unit", "simulation"]
  },
  {
    name: "core: a fresh actor's state is shown before it is stored",
    find: "if (!this.host.load(cell)) return this.stall(entry, cell) return this.answerNow",
    replace: "if (!this.gathering.bring(cell)) return this.stall(entry, cell)\n        return this.answerNow",
    sentence: "a query of an actor that exists is answered as if it did not",
    finders: ["freshActors.unit", "simulation"]
  },
  {
    name: "core: a replay folds actors without a state",
    find: "if (actor.isStateless) return undefined",
    replace: "",
    sentence: "a partition with such facts does not start",
    finders: ["statelessActors.unit", "simulation"]
  },
  {
    name: "core: queries are answered by a partition that does not serve",
    find: "if (this.refusal === undefined && this.shared.life().time.isFresh(now)) {",
    replace: "if (this.shared.life().time.isFresh(now)) {",
    sentence: "an owner that was fenced answers queries from its old state",
    finders: ["coreIntake.unit"]
  },
  {
    name: "core: a signal wakes nobody",
    find: "this.shared.life().loader.prefetch(entry) this.options.host.wake()",
    replace: "this.shared.life().loader.prefetch(entry)",
    sentence: "a bounce waits until somebody asks something",
    finders: ["coreIntake.unit"]
  },
  {
    name: "core: a shutdown does not wait for what is being loaded",
    find: "this.shared.mailbox.size === 0 && this.shared.mailbox.stalled === 0",
    replace: "this.shared.mailbox.size === 0",
    sentence: "a command that was accepted is refused by a shutdown that could have decided it",
    finders: ["coreIntake.unit"]
  },
  {
    name: "core: a page for the life before counts",
    find: "if (request.of !== this) return false",
    replace: "",
    sentence: "alarms that were stored since are not looked for after a restart",
    finders: ["coreLives.unit"]
  },
  {
    name: "core: what a full log refuses uses up ids",
    find: "this.draft.forgetIds(this.idsBefore)\n    if",
    replace: "if",
    sentence: "while its log is full, a partition blames rules after some thousand refusals, and suspends their wakes",
    finders: ["coreRoom.unit"]
  },
  {
    name: "core: an id that is not there is the rule's fault",
    find: "if (cause instanceof IdsUsedUp) return this.noRoom(entry, 1)",
    replace: "",
    sentence: "a right rule counts as poison because its log is full",
    finders: ["coreRoom.unit"]
  },
  {
    name: "simulation: clients of a stopped partition ask on",
    find: 'if (answer.error === "PartitionStopped") this.patient.push(operation)',
    replace: 'if (answer.error === "PartitionStopped") this.askAfter(operation, lastRetryMillis)',
    sentence: "a right rule is said not to come to rest",
    finders: ["campaign.unit"]
  },
  {
    name: "traces: a drain does not say whose it is",
    find: "const span = this.asks.get(caller)",
    replace: "const span = this.asks.get(links)",
    sentence: "a trace ends at the ask, and nobody sees why a webhook went",
    finders: ["platform.e2e"]
  },
  {
    name: "engine: a lane keeps the actors that it reads",
    find: "memory.look(read, now.monotonic)",
    replace: "memory.use(read, now.monotonic)",
    sentence: "actors that lanes read fill the memory of a process whose partition decides nothing",
    finders: ["engine.sim"]
  }
]
