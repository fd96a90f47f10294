/** Variants of the engine's core alone: its lives, what it asks its shell for, its drains and loads. */
import { src, unit } from "./engineFinders.ts"
import type { Variant } from "./runner/variant.ts"

export const core: ReadonlyArray<Variant> = [
  {
    name: "core: signals of a life before are decided again in the next",
    file: src("core/PartitionCore"),
    find: "    this.signals.clear()\n",
    replace: "",
    sentence: "a signal that was read before a restart counts twice",
    finders: [unit("coreLives")]
  },
  {
    name: "core: a page that a life did not get is waited for in the next",
    file: src("core/PartitionCore"),
    find: "    this.pages.begin()\n",
    replace: "",
    sentence: "after a restart alarms of actors that are not in memory never ring",
    finders: [unit("coreLives")]
  },
  {
    name: "core: what was told in a life holds in the next",
    file: src("core/PartitionCore"),
    find: "    this.time.begin()\n",
    replace: "",
    sentence: "after the clock was set back a partition restarts for ever",
    finders: [unit("coreLives")]
  },
  {
    name: "core: a tail that was replayed counts no frames",
    file: src("core/PartitionCore"),
    find: "this.pace.begin(frames, this.pace",
    replace: "this.pace.begin(0, this.pace",
    sentence: "a partition that restarts often takes no checkpoint, and its log grows",
    finders: [unit("coreLives")]
  },
  {
    name: "core: what was read on before a claim replaces what was read before",
    file: src("core/PartitionCore"),
    find: "this.pace.bytesSince + bytes, log.maximumBytes",
    replace: "bytes, log.maximumBytes",
    sentence: "a checkpoint is taken later than its bytes say",
    finders: [unit("coreLives")]
  },
  {
    name: "core: what is on its way fails like what is not",
    file: src("core/PartitionCore"),
    find: "const unknown = this.underWay === undefined ? error : new OutcomeUnknown({ partition })",
    replace: "const unknown = error",
    sentence: "a caller is told that nothing was stored although its frame may be",
    finders: [unit("coreLives")]
  },
  {
    name: "core: a lane that meets a clock set back wakes nobody",
    file: src("core/PartitionCore"),
    find: "    this.options.host.wake()\n    const { partition } = this.options\n    return { error",
    replace: "    const { partition } = this.options\n    return { error",
    sentence: "lanes are refused until a command comes, although a new life would serve",
    finders: [unit("coreLives")]
  },
  {
    name: "core: a turn does not end with its time",
    file: src("core/PartitionCore"),
    find: 'if (turn.spent() > 1) return { _tag: "Yield" }',
    replace: "",
    sentence: "queries that come steadily keep all other fibers of a process waiting",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: a full memory is not looked at again",
    file: src("core/WorkAhead"),
    find: "until(this.crowdedUntil), ",
    replace: "",
    sentence: "signals that found no room wait for ten seconds",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: a full log is not looked at again",
    file: src("core/WorkAhead"),
    find: "until(room.heldTo), ",
    replace: "",
    sentence: "timers and signals that found no room wait for ten seconds",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: what could not be loaded is not tried again in time",
    file: src("core/WorkAhead"),
    find: ", until(loader.heldTo))",
    replace: ")",
    sentence: "alarms that were due while the checkpoints were away ring ten seconds late",
    finders: [unit("coreLoads", "coreTimers")]
  },
  {
    name: "core: an ask of a lane waits for the next look at the log",
    file: src("core/WorkAhead"),
    find: "lanes.needsConfirmation ? time.untilAsk(now) : time.untilLook(now)",
    replace: "time.untilLook(now)",
    sentence: "after one failed exchange with the log an ask of a lane waits for up to five seconds",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: asks of lanes let a leader be asked without end",
    file: src("core/PartitionCore"),
    find: "this.lanes.needsConfirmation && this.time.mayAsk(now)",
    replace: "this.lanes.needsConfirmation",
    sentence: "while a log is away its server is asked as often as lanes are",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: a mark is written into a log that is full",
    file: src("core/PartitionCore"),
    find: "(!this.provesByFrames || this.room.isFull)) return",
    replace: "!this.provesByFrames) return",
    sentence: "where leaders may be deposed a full log uses up the room that its claims need",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: a fence says that the signals of its frame are decided",
    file: src("core/Drain"),
    find: "const fenceHeader = { ...header, signalSequence: head.signalSequence }",
    replace: "const fenceHeader = header",
    sentence: "a signal whose frame was refused is never decided after a restart",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: a head behind a fence counts the signals of the refused frame",
    file: src("core/PartitionCore"),
    find: "this.advance({ ...header, signalSequence: this.headNow.signalSequence }, outcome.fence",
    replace: "this.advance(header, outcome.fence",
    sentence: "a signal whose frame was refused is never decided after the next checkpoint",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: answers without facts go out with a frame whatever the proof",
    file: src("core/PartitionCore"),
    find: "if (this.time.isFresh(this.now)) this.drain.immediate.give(this.options.host.reply)\n    return this.underWay",
    replace: "this.drain.immediate.give(this.options.host.reply)\n    return this.underWay",
    sentence: "an owner that was replaced answers once more from its old state",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: answers without facts go out with a refusal whatever the proof",
    file: src("core/PartitionCore"),
    find: "    if (this.time.isFresh(now)) this.drain.immediate.give(reply)\n    else this.drain.immediate.fail(reply, error)\n    if (outcome",
    replace: "    this.drain.immediate.give(reply)\n    if (outcome",
    sentence: "an owner that was replaced answers once more from its old state while its log is full",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: stored frames do not fill the log",
    file: src("core/PartitionCore"),
    find: "    this.room.stored(bytes.length)\n    if (provenAt",
    replace: "    if (provenAt",
    sentence: "facts are sent into a log that is full, and take the room of claims",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: a lost connection counts as a full log",
    file: src("core/PartitionCore"),
    find: 'if (outcome._tag !== "Not sent") this.logIsFull(true)',
    replace: "this.logIsFull(true)",
    sentence: "after a reconnection facts are refused for a second",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: what the leader says of its room is not noted",
    file: src("core/PartitionCore"),
    find: "      this.room.note(log)\n      if (this.provesByFrames",
    replace: "      if (this.provesByFrames",
    sentence: "a log that has room again is taken for full",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: a look at the room that fails is tried at once",
    file: src("core/PartitionCore"),
    find: "      this.room.lookFailed()\n",
    replace: "",
    sentence: "while a full log is away its partition does nothing but ask for it",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: a leader that does not answer is asked again at once",
    file: src("core/PartitionCore"),
    find: "      this.time.failed(now)\n",
    replace: "",
    sentence: "while a log is away its partition does nothing but ask for it",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: a leader that may be deposed proves",
    file: src("core/PartitionCore"),
    find: "if (this.provesByFrames && !this.room.isFull) this.time.seen(begunAt)\n      else ",
    replace: "",
    sentence: "an owner that was replaced answers from its old state because a deposed leader agrees",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: a leader's word does not do where no frame goes in",
    file: src("core/PartitionCore"),
    find: "if (this.provesByFrames && !this.room.isFull) this.time.seen",
    replace: "if (this.provesByFrames) this.time.seen",
    sentence: "where leaders may be deposed a partition with a full log answers no query",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: costly states are not noticed",
    file: src("core/Draft"),
    find: "        this.measured++\n",
    replace: "",
    sentence: "a full actor that is written often holds up a partition for a tenth of a second",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: a full memory asks for no checkpoint",
    file: src("core/PartitionCore"),
    find: "    this.work.crowded(this.now)\n    this.isCheckpointDue = true\n",
    replace: "    this.work.crowded(this.now)\n",
    sentence: "a memory that is full of changes stays full",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: a full log asks for no checkpoint",
    file: src("core/PartitionCore"),
    find: "      this.isMarkWanted = true\n    }\n    this.isCheckpointDue = true\n",
    replace: "      this.isMarkWanted = true\n    }\n",
    sentence: "a log that has filled up stays full until a checkpoint is due by time",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: lanes are swept by a time that nobody was told",
    file: src("core/PartitionCore"),
    find: "const told = this.time.tell(this.headNow.now, now.wall)\n    // A state",
    replace: "const told = now.wall\n    // A state",
    sentence: "a request limit counts twice in a minute when the clock is set back a little behind a sweep",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: a sweep lets all idle actors go",
    file: src("core/PartitionCore"),
    find: "evictUnusedSince(now.monotonic - idleMillis)",
    replace: "evictUnusedSince(now.monotonic)",
    sentence: "actors that are used every minute are loaded every minute",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: a checkpoint by time waits for work",
    file: src("core/PartitionCore"),
    find: "    this.isCheckpointDue = true\n    this.options.host.wake()",
    replace: "    this.isCheckpointDue = true",
    sentence: "an idle partition takes its checkpoint only with the next command",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: room that was made wakes nobody",
    file: src("core/PartitionCore"),
    find: "    if (!this.room.isFull) this.options.host.wake()\n",
    replace: "",
    sentence: "what waits for room in a full log waits a second more than it has to",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: answers whose proof has failed wait on",
    file: src("core/PartitionCore"),
    find: "    this.drain.immediate.fail(host.reply, error)\n    for (const ask of this.lanes",
    replace: "    for (const ask of this.lanes",
    sentence: "a query waits for as long as the log is away",
    finders: [unit("coreDemands", "coreRoom")]
  },
  {
    name: "core: commands that wait for an actor change their order with a life",
    file: src("core/ActorLoader"),
    find: "      for (let index = waiters.length - 1; index >= 0; index--) {\n        const waiter = waiters[index]!\n        if (!(waiter instanceof Entry)) laneResumed(waiter, error)",
    replace:
      "      for (let index = 0; index < waiters.length; index++) {\n        const waiter = waiters[index]!\n        if (!(waiter instanceof Entry)) laneResumed(waiter, error)",
    sentence: "two commands of one caller are decided the wrong way round after a restart",
    finders: [unit("coreLives")]
  },
  {
    name: "core: commands that wait for an actor change their order when it is there",
    file: src("core/ActorLoader"),
    find: "    for (let index = waiters.length - 1; index >= 0; index--) {\n      const waiter = waiters[index]!\n      if (!(waiter instanceof Entry)) continue",
    replace:
      "    for (let index = 0; index < waiters.length; index++) {\n      const waiter = waiters[index]!\n      if (!(waiter instanceof Entry)) continue",
    sentence: "two commands of one caller are decided the wrong way round when their actor was not in memory",
    finders: [unit("coreLoads", "coreTimers")]
  },
  {
    name: "core: reads of the life before count as under way",
    file: src("core/loads"),
    find: "    this.wanted = []\n    this.underWay = 0",
    replace: "    this.wanted = []",
    sentence: "a partition that restarts while it loads loads nothing any more",
    finders: [unit("coreLives")]
  }
]
