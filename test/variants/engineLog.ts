/** Variants of the engine: appends, ownership and freshness, recovery, time, and the room in a log. */
import { simulation, src, unit } from "./engineFinders.ts"
import type { Variant } from "./runner/variant.ts"

export const engineLog: ReadonlyArray<Variant> = [
  {
    name: "engine: a log is purged up to its newest checkpoint",
    file: src("shell/purge"),
    find: "const covered = isStuck ? newest : secondNewest",
    replace: "const covered = newest",
    sentence: "after a newest checkpoint that is lost the log does not reach back to the one before",
    finders: [simulation]
  },
  {
    name: "engine: an answer does not wait for its frame",
    file: src("core/Decider"),
    find: "if (this.draft.builder.count > 0 || entry.caller === undefined) this.awaitFrame",
    replace: "if (entry.caller === undefined) this.awaitFrame",
    sentence: "a decision is acknowledged before it is stored, and a crash loses it",
    finders: [simulation]
  },
  {
    name: "engine: a rejection does not wait for the facts it rests on",
    file: src("core/Decider"),
    find: "if (this.draft.builder.count > 0 || entry.caller === undefined) this.awaitFrame",
    replace: "if ((accepted && this.draft.builder.count > 0) || entry.caller === undefined) this.awaitFrame",
    sentence: "a caller is refused for a fact that is never stored",
    finders: [unit("visibility"), simulation]
  },
  {
    name: "engine: a query sees what is not stored",
    file: src("core/Intake"),
    find: "this.options.host.reply(caller, true, cell.state)",
    replace: "this.options.host.reply(caller, true, cell.draft ?? cell.state)",
    sentence: "a query answers facts that a crash then loses",
    finders: [unit("visibility"), simulation]
  },
  {
    name: "engine: frames are appended wherever the log ends",
    file: src("shell/append"),
    find: "log.publish({ bytes, identity, expectedLast, timeoutMillis: publishTimeoutMillis })",
    replace:
      'Effect.flatMap(Effect.option(log.state), (state) =>\n    log.publish({\n      bytes,\n      identity,\n      expectedLast: state._tag === "Some" ? state.value.lastSequence : expectedLast,\n      timeoutMillis: publishTimeoutMillis\n    })\n  )',
    sentence: "two owners write into one log, each on a state that lacks the other's facts",
    finders: [unit("append"), simulation]
  },
  {
    name: "engine: a partition serves without a claim",
    file: src("shell/recovering"),
    find: "    const { head } = core\n    const header = {",
    replace:
      "    const { head } = core\n    if (head.sequence > 0) {\n      core.claimed(head, 0, partition.now(), log.leaderMayBeDeposed)\n      return true\n    }\n    const header = {",
    sentence: "a predecessor may append behind what its successor has read",
    finders: [unit("ownership"), simulation]
  },
  {
    name: "engine: a fenced frame is sent again at the new end",
    file: src("shell/append"),
    find: '    return { _tag: "Fenced", branch: "fenced-other-frame", certain: true }\n',
    replace: "    Object.assign(this.request, { expectedLast: this.request.expectedLast + 1 })\n    return undefined\n",
    sentence: "a decision that does not know another owner's facts is stored behind them",
    finders: [unit("append"), simulation]
  },
  {
    name: "engine: a duplicate is believed unread",
    file: src("shell/append"),
    find: " && !answer.duplicate",
    replace: "",
    sentence: "a frame of the same identity by somebody else counts as our own",
    finders: [unit("append"), simulation]
  },
  {
    name: "engine: silence means not sent",
    file: src("shell/append"),
    find: 'if (said._tag === "NotSent" && this.sent === 0) {',
    replace: 'if ((said._tag === "NotSent" || said._tag === "NoAnswer") && this.sent === 0) {',
    sentence: "a caller is told that nothing was stored although the log only did not answer",
    finders: [unit("uncertainAppends", "append"), simulation]
  },
  {
    name: "engine: not sent after an attempt that was sent is certain",
    file: src("shell/append"),
    find: 'if (said._tag === "NotSent" && this.sent === 0) {',
    replace: 'if (said._tag === "NotSent") {',
    sentence: "a caller is told that nothing was stored although the first attempt of the frame may still be",
    finders: [unit("uncertainAppends"), simulation]
  },
  {
    name: "engine: asks of lanes wait past an append",
    file: src("core/PartitionCore"),
    find: "    if (this.time.isFresh(now)) {\n      this.drain.immediate.give(this.options.host.reply)\n      this.intake.retryUnconfirmed()\n    }\n    return stored",
    replace: "    if (this.time.isFresh(now)) this.drain.immediate.give(this.options.host.reply)\n    return stored",
    sentence: "an ask of a lane that waits for the ownership is not answered by the append that proves it",
    finders: [unit("uncertainAppends")]
  },
  {
    name: "engine: a refused frame is not fenced off",
    file: src("shell/append"),
    find: "this.fence = this.request.fence?.()",
    replace: "this.fence = undefined",
    sentence: "a frame that the log has refused is stored after all by a copy of it",
    finders: [unit("append", "uncertainAppends"), simulation]
  },
  {
    name: "engine: a refusal that no fence stands for is certain",
    file: src("shell/serving"),
    find: "const error = isFencedOff\n",
    replace: "const error = outcome\n",
    sentence: "a caller is told that nothing was stored although a copy of the refused frame may still arrive",
    finders: [unit("foundBySeeds", "uncertainAppends"), simulation]
  },
  {
    name: "engine: a frame that is read back always proves the ownership",
    file: src("shell/append"),
    find: "const provenAt = isLast ? readAt : undefined",
    replace: "const provenAt = readAt",
    sentence: "an owner serves on although the log has gone on behind its frame",
    finders: [unit("append", "foundBySeeds"), simulation]
  },
  {
    name: "engine: freshness counts from the end of an exchange",
    file: src("core/PartitionCore"),
    find: "else this.time.proven(begunAt)",
    replace: "else this.time.proven(now)",
    sentence: "an owner that was replaced answers from a state of more than 5 seconds ago",
    finders: [unit("staleOwners"), simulation]
  },
  {
    name: "engine: everything is fresh",
    file: src("core/time"),
    find: "return between(this.provenAt, now) < freshnessMillis",
    replace: "return true",
    sentence: "an owner that was replaced answers from its old state for ever",
    finders: [unit("visibility", "partitionTime"), simulation]
  },
  {
    name: "engine: freshness ignores the wall's clock",
    file: src("core/time"),
    find: ": Math.max(now.monotonic - from.monotonic, Math.abs(now.wall - from.wall))",
    replace: ": now.monotonic - from.monotonic",
    sentence: "after a machine was suspended an owner that was replaced answers from its old state",
    finders: [unit("partitionTime"), simulation]
  },
  {
    name: "engine: an idle owner never looks at its log",
    file: src("limits"),
    find: "export const idleConfirmMillis = 10_000",
    replace: "export const idleConfirmMillis = 1_000_000_000",
    sentence: "an owner that was replaced and that nobody asks goes on as one, with its timers and reactors",
    finders: [unit("partitionTime", "foundBySeeds"), simulation]
  },
  {
    name: "engine: an uncertain fence is told as certain",
    file: src("shell/serving"),
    find: "core.failDrain(moved, outcome.certain ? moved : new OutcomeUnknown({ partition: id }))",
    replace: "core.failDrain(moved, moved)",
    sentence: "a caller is told that nothing was stored although its frame may have been, and was purged since",
    finders: [unit("staleOwners"), simulation]
  },
  {
    name: "engine: frames that only this process has seen are no witness",
    file: src("shell/Partition"),
    find: "    this.witness = { sequence: head.sequence, hash: head.hash }\n",
    replace: "",
    sentence: "after a log lost its end a running owner goes on without facts that it acknowledged",
    finders: [unit("staleOwners"), simulation]
  },
  {
    name: "engine: nobody's witness counts at a start",
    file: src("shell/recovering"),
    find: "[...witnessesOf(seen.records, seen.cursors, [...reactors, { name: outboxName }]), ...own]",
    replace: "[]",
    sentence: "a partition goes on with a log that has lost acknowledged facts",
    finders: [unit("witnesses"), simulation]
  },
  {
    name: "engine: a claim forgets the signals",
    file: src("shell/recovering"),
    find: "previousHash: head.hash,\n      signalSequence: head.signalSequence",
    replace: "previousHash: head.hash,\n      signalSequence: 0",
    sentence: "signals are counted again after a restart",
    finders: [unit("reactor"), simulation]
  },
  {
    name: "engine: a claim goes back in time",
    file: src("shell/recovering"),
    find: "now: Math.max(partition.now().wall, head.now)",
    replace: "now: partition.now().wall",
    sentence: "after a start with a clock that is behind followers see a frame of the past",
    finders: [unit("changesKept"), simulation]
  },
  {
    name: "engine: time may be before the last frame",
    file: src("core/time"),
    find: "this.latest = Math.max(wall, headNow, this.latest)",
    replace: "this.latest = Math.max(wall, this.latest)",
    sentence: "after a start with a clock that is behind decisions are made in the past",
    finders: [unit("changesKept"), simulation]
  },
  {
    name: "engine: the clock may go back",
    file: src("core/time"),
    find: "this.latest = Math.max(wall, headNow, this.latest)",
    replace: "this.latest = wall",
    sentence: "decisions are made in the past of those before them",
    finders: [unit("visibility", "partitionTime"), simulation]
  },
  {
    name: "engine: fences of a minute are forgotten",
    file: src("shell/supervising"),
    find: "monotonic - at < fenceWindowMillis",
    replace: "monotonic - at < fenceWindowMillis / 10",
    sentence: "two owners fence each other for ever",
    finders: [unit("ownership"), simulation]
  },
  {
    name: "engine: a shutdown takes no checkpoint",
    file: src("shell/supervising"),
    find: "        yield* checkpoint(partition)\n      }\n",
    replace: "      }\n",
    sentence: "a start replays what the last process could have saved",
    finders: [unit("witnesses"), simulation]
  },
  {
    name: "engine: facts may fill the whole log",
    file: src("core/LogRoom"),
    find: "this.maximumBytes - this.reserve - this.bytes - storedOverheadBytes",
    replace: "this.maximumBytes - this.bytes - storedOverheadBytes",
    sentence: "a log that has filled up takes no claim any more, and its partition stays down",
    finders: [unit("logRoom"), simulation]
  },
  {
    name: "engine: a full log is never marked",
    file: src("core/LogRoom"),
    find: "return this.isFull && !this.isMarked",
    replace: "return false",
    sentence: "a log that is full of what its newest checkpoint holds stays full",
    finders: [unit("logRoom", "foundBySeeds"), simulation]
  }
]
