/** Variants of the engine: its log, its memory, its wakes and its followers. */
import type { Variant } from "./runner/variant.ts"

export const engine: ReadonlyArray<Variant> = [
  {
    name: "clock: a clock that is ahead is believed",
    find: "const ahead = partition.context.clockGuard.problem() if (ahead !== undefined)",
    replace: "const ahead = partition.context.clockGuard.problem()\nif (ahead === null)",
    sentence: "frames from the future keep a partition away once the clock is right",
    finders: ["ClockWatch.unit"]
  },
  {
    name: "engine: frames are purged whatever their age",
    find: "unneeded === undefined || isTooFull || keepMillis === 0",
    replace: "unneeded === undefined || keepMillis >= 0",
    sentence: "a database that was restored from a backup cannot catch up with the log",
    finders: ["keptFrames.unit"]
  },
  {
    name: "engine: what is kept for its age fills the log",
    find: "return over <= 0 || frames <= 0 ? firstSequence : firstSequence + Math.ceil(over / (bytes / frames))",
    replace: "return firstSequence",
    sentence: "a busy log is full of frames that nobody needs",
    finders: ["keptFrames.unit"]
  },
  {
    name: "recover: frames that can be read are dropped",
    find: ": state.lastSequence >= state.firstSequence ? keepFrames(found)",
    replace: ": state.lastSequence < 0\n? keepFrames(found)",
    sentence: "an operator who accepts a loss loses the log's frames too",
    finders: ["keptFrames.unit"]
  },
  {
    name: "start: a NATS without the logs is taken for a loss",
    find: "if (logs.some(({ lastSequence }) => lastSequence > 0)) return undefined",
    replace: "return undefined",
    sentence: "a wrong address makes empty streams and is told as loss",
    finders: ["belonging.unit"]
  },
  {
    name: "followers: what does not fit a slow one is forgotten",
    find: "this.lose(undefined)",
    replace: "this.bytes = 0",
    sentence: "a slow follower of an actor's facts misses a thousand of them and does not know it",
    finders: ["followTypes.unit"]
  },
  {
    name: "followers: one that changes from the log to memory looks past what lies between",
    find: "const follower = partition.followers.add(this.followed, last, this.keeps, this.wakeup)",
    replace:
      "const follower = partition.followers.add(this.followed, last, this.keeps, this.wakeup)\n    this.sequence = last",
    sentence: "a program that goes on after a restart misses the facts that were stored while it was away",
    finders: ["followers"]
  },
  {
    name: "followers: what was purged is passed over",
    find: "if (this.keeps) return yield* new FactsPurged",
    replace: "if (this.sequence < 0) return yield* new FactsPurged",
    sentence: "a program that was away for long misses facts that were purged, and is not told",
    finders: ["followTypes.unit", "followers"]
  },
  {
    name: "rebuilding: a purged log is as good as a whole one",
    find: 'if (from !== "what is kept")',
    replace: "if (firstSequence < 1)",
    sentence: "a projection that is built anew silently lacks what was purged",
    finders: ["reactors.unit"]
  },
  {
    name: "rebuilding from states: a fact in a state counts again",
    find: "this.rebuild !== undefined && isCovered(this.rebuild, record)",
    replace: "this.rebuild !== undefined && isCovered(this.rebuild, { ...record, sequence: Number.POSITIVE_INFINITY })",
    sentence: "a projection that is rebuilt while its actors go on counts what came meanwhile twice",
    finders: ["rebuildFromStates.unit"]
  },
  {
    name: "rebuilding from states: pages of two checkpoints count as one",
    find: "const before = newest?.sequence === sequence ? cuts.slice(0, -1) : cuts",
    replace: "const before = cuts.slice(0, -1)",
    sentence: "facts that came between two pages of a rebuild are lost, or counted twice",
    finders: ["statesWalk.unit", "rebuildFromStates.unit"]
  },
  {
    name: "rebuilding from states: the facts between its checkpoints are done when the states are",
    find: "const to = isOverAt(next, durable.sequence) ? undefined : next",
    replace: "const to = next.isWalked ? undefined : next",
    sentence: "a projection that is rebuilt while its actors go on counts what came meanwhile twice",
    finders: ["rebuildFromStates.unit"]
  },
  {
    name: "rebuilding from states: two owners take the same page",
    find: 'move.rebuild.from === "any" || move.rebuild.from === rebuild?.step',
    replace: 'move.rebuild.from === "any" || rebuild !== null',
    sentence: "a replaced owner gives a reactor states that it has got",
    finders: ["contracts.unit"]
  },
  {
    name: "organizations: one whose last actor is over is listed",
    find: "if (keys.length === 0) continue",
    replace: "if (keys.length < 0) continue",
    sentence: "a list of organizations names one that has nothing",
    finders: ["listing.unit"]
  },
  {
    name: "durable: a database is anybody's",
    find: "if (kinds.length > 0 && !program.kinds.some((kind) => kinds.includes(kind)))",
    replace: "if (program.kinds.length === 0)",
    sentence: "two programs that share a database write into one log",
    finders: ["belonging.it"]
  },
  {
    name: "engine: a log is purged up to its newest checkpoint",
    find: "const covered = isStuck ? newest : secondNewest",
    replace: "const covered = newest",
    sentence: "after a newest checkpoint that is lost the log does not reach back to the one before",
    finders: ["simulation"]
  },
  {
    name: "engine: an answer does not wait for its frame",
    find: "if (this.draft.builder.count > 0 || entry.caller === undefined) this.awaitFrame",
    replace: "if (entry.caller === undefined) this.awaitFrame",
    sentence: "a decision is acknowledged before it is stored, and a crash loses it",
    finders: ["simulation"]
  },
  {
    name: "engine: a rejection does not wait for the facts it rests on",
    find: "if (this.draft.builder.count > 0 || entry.caller === undefined) this.awaitFrame",
    replace: "if ((accepted && this.draft.builder.count > 0) || entry.caller === undefined) this.awaitFrame",
    sentence: "a caller is refused for a fact that is never stored",
    finders: ["visibility.unit", "simulation"]
  },
  {
    name: "engine: a query sees what is not stored",
    find: "this.options.host.reply(caller, true, cell.state)",
    replace: "this.options.host.reply(caller, true, cell.draft ?? cell.state)",
    sentence: "a query answers facts that a crash then loses",
    finders: ["visibility.unit", "simulation"]
  },
  {
    name: "engine: frames are appended wherever the log ends",
    find: "log.publish({ bytes, identity, expectedLast, timeoutMillis: publishTimeoutMillis })",
    replace:
      'Effect.flatMap(Effect.option(log.state), (state) =>\n    log.publish({\n      bytes,\n      identity,\n      expectedLast: state._tag === "Some" ? state.value.lastSequence : expectedLast,\n      timeoutMillis: publishTimeoutMillis\n    })\n  )',
    sentence: "two owners write into one log, each on a state that lacks the other's facts",
    finders: ["append.unit", "simulation"]
  },
  {
    name: "engine: a partition serves without a claim",
    find: "const { head } = core const header = {",
    replace:
      "const { head } = core\n    if (head.sequence > 0) {\n      core.claimed(head, 0, partition.now(), log.leaderMayBeDeposed)\n      return true\n    }\n    const header = {",
    sentence: "a predecessor may append behind what its successor has read",
    finders: ["ownership.unit", "simulation"]
  },
  {
    name: "engine: a fenced frame is sent again at the new end",
    find: 'return { _tag: "Fenced", branch: "fenced-other-frame", certain: true }',
    replace: "Object.assign(this.request, { expectedLast: this.request.expectedLast + 1 })\n    return undefined",
    sentence: "a decision that does not know another owner's facts is stored behind them",
    finders: ["append.unit", "simulation"]
  },
  {
    name: "engine: a duplicate is believed unread",
    find: "&& !answer.duplicate",
    replace: "",
    sentence: "a frame of the same identity by somebody else counts as our own",
    finders: ["append.unit", "simulation"]
  },
  {
    name: "engine: silence means not sent",
    find: 'if (said._tag === "NotSent" && this.sent === 0) {',
    replace: 'if ((said._tag === "NotSent" || said._tag === "NoAnswer") && this.sent === 0) {',
    sentence: "a caller is told that nothing was stored although the log only did not answer",
    finders: ["uncertainAppends.unit", "append.unit", "simulation"]
  },
  {
    name: "engine: a refused frame is not fenced off",
    find: "this.fence = this.request.fence?.()",
    replace: "this.fence = undefined",
    sentence: "a frame that the log has refused is stored after all by a copy of it",
    finders: ["append.unit", "uncertainAppends.unit", "simulation"]
  },
  {
    name: "engine: a refusal that no fence stands for is certain",
    find: "const error = isFencedOff",
    replace: "const error = outcome",
    sentence: "a caller is told that nothing was stored although a copy of the refused frame may still arrive",
    finders: ["foundBySeeds.unit", "uncertainAppends.unit", "simulation"]
  },
  {
    name: "engine: freshness counts from the end of an exchange",
    find: "else this.life.time.proven(begunAt)",
    replace: "else this.life.time.proven(now)",
    sentence: "an owner that was replaced answers from a state of more than 5 seconds ago",
    finders: ["staleOwners.unit", "simulation"]
  },
  {
    name: "engine: an idle owner never looks at its log",
    find: "export const idleConfirmMillis = 10_000",
    replace: "export const idleConfirmMillis = 1_000_000_000",
    sentence: "an owner that was replaced and that nobody asks goes on as one, with its timers and reactors",
    finders: ["partitionTime.unit", "foundBySeeds.unit", "simulation"]
  },
  {
    name: "engine: an uncertain fence is told as certain",
    find: "core.failDrain(moved, outcome.certain ? moved : new OutcomeUnknown({ partition: id }))",
    replace: "core.failDrain(moved, moved)",
    sentence: "a caller is told that nothing was stored although its frame may have been, and was purged since",
    finders: ["staleOwners.unit", "simulation"]
  },
  {
    name: "engine: frames that only this process has seen are no witness",
    find: "this.sawEnd(head)",
    replace: "",
    sentence: "after a log lost its end a running owner goes on without facts that it acknowledged",
    finders: ["staleOwners.unit", "simulation"]
  },
  {
    name: "engine: nobody's witness counts at a start",
    find: "[...witnessesOf(seen.records, seen.cursors, [...reactors, { name: outboxName }]), ...own]",
    replace: "[]",
    sentence: "a partition goes on with a log that has lost acknowledged facts",
    finders: ["witnesses.unit", "simulation"]
  },
  {
    name: "engine: a claim forgets the signals",
    find: "now: Math.max(partition.now().wall, head.now), previousHash: head.hash, ...placesOf(head)",
    replace: "now: Math.max(partition.now().wall, head.now),\n      previousHash: head.hash,\n      signalSequence: 0",
    sentence: "signals are counted again after a restart",
    finders: ["reactor.unit", "simulation"]
  },
  {
    name: "engine: a claim goes back in time",
    find: "now: Math.max(partition.now().wall, head.now)",
    replace: "now: partition.now().wall",
    sentence: "after a start with a clock that is behind followers see a frame of the past",
    finders: ["changesKept.unit", "simulation"]
  },
  {
    name: "engine: facts may fill the whole log",
    find: "this.maximumBytes - this.reserve - this.bytes - storedOverheadBytes",
    replace: "this.maximumBytes - this.bytes - storedOverheadBytes",
    sentence: "a log that has filled up takes no claim any more, and its partition stays down",
    finders: ["logRoom.unit", "simulation"]
  },
  {
    name: "engine: a command at which a drain breaks is forgotten",
    find: "this.putBack(inHand)",
    replace: "",
    sentence: "a caller whose command breaks the core never gets an answer",
    finders: ["drain.unit"]
  },
  {
    name: "engine: an id of a decision may equal an event's",
    find: "{ decided: 0, event: 1 }",
    replace: "{ decided: 1, event: 1 }",
    sentence: "an id that a rule asks for is the id of an event of the same frame",
    finders: ["derivedIds.unit", "simulation"]
  },
  {
    name: "engine: ids of discarded drains are not given back",
    find: "else decider.draft.forgetIds(idsGiven)",
    replace: "else decider.draft.forgetIds(decider.draft.idsGiven)",
    sentence: "a drain that is decided again uses up the ids of its frame",
    finders: ["foundBySeeds.unit", "derivedIds.unit", "simulation"]
  },
  {
    name: "engine: a state is measured in characters",
    find: "const bytes = Buffer.byteLength(JSON.stringify(cell.actor.encodeState(cell.draft)))",
    replace: "const bytes = JSON.stringify(cell.actor.encodeState(cell.draft)).length",
    sentence: "a state of other characters than ASCII grows beyond its bound",
    finders: ["bounds.unit", "simulation"]
  },
  {
    name: "engine: a state is not checked by its schema",
    find: "checkState(cell.actor, cell.draft)",
    replace: "",
    sentence: "a state that its schema refuses is stored, and cannot be read after a restart",
    finders: ["engine/rules.unit", "simulation"]
  },
  {
    name: "engine: a command that can never fit is told to come again",
    find: "if (needed > maximumActors) throw new MoreThanFit(needed, maximumActors)",
    replace: "",
    sentence: "a caller repeats for ever what no room will ever be found for",
    finders: ["coreRoom.unit", "simulation"]
  },
  {
    name: "engine: a decision does not see the one before it",
    find: "const state = this.draft.stateOf(cell)",
    replace: "const state = cell.state",
    sentence: "two decisions of one frame both spend the same",
    finders: ["engine.unit", "simulation"]
  },
  {
    name: "engine: messages alone are not stored",
    find: "facts.length > 0 || others.length > 0 || events.length > 0 || messages.length > 0",
    replace: "facts.length > 0 || others.length > 0 || events.length > 0",
    sentence: "messages of a decision without facts are never sent, and its caller is told otherwise",
    finders: ["outbox.unit", "simulation"]
  },
  {
    name: "engine: an organization is forgotten with a command of it in hand",
    find: "if (organization.cellCount === 0) this.emptied.add(organization)",
    replace: "if (organization.cellCount > 0) return\n    this.emptied.add(organization)\n    this.releaseEmptied()",
    sentence: "a command is decided over a state that the next one does not see",
    finders: ["engine.unit", "actorMemory.unit", "simulation"]
  },
  {
    name: "engine: stalled commands have no bound",
    find: "return this.stalled < Math.max(1, this.capacity / 2)",
    replace: "return true",
    sentence: "while the checkpoints hang commands that wait for them fill the memory",
    finders: ["mailboxModel.unit", "boundedActors.unit", "simulation"]
  },
  {
    name: "engine: a load that fails leaves its waiters",
    find: "this.release(cell, error) // The running",
    replace: "// The running",
    sentence: "whoever waits for an actor that could not be read is never answered",
    finders: ["boundedActors.unit", "simulation"]
  },
  {
    name: "engine: changes during a checkpoint count as written",
    find: "if (cell.changedAt > sequence) continue",
    replace: "",
    sentence: "a change that came while a checkpoint was written is lost with an idle actor",
    finders: ["changesKept.unit", "simulation"]
  },
  {
    name: "engine: a checkpoint holds what is not stored",
    find: "actors.push({ cell, state: cell.state,",
    replace: "actors.push({ cell, state: cell.draft ?? cell.state,",
    sentence: "facts that were never stored are there after a restart",
    finders: ["durability.unit", "simulation"]
  },
  {
    name: "engine: timers of replayed frames are lost",
    find: "timers.set(cell, cell.wakeAt)",
    replace: "",
    sentence: "an alarm that was set shortly before a restart does not ring",
    finders: ["brokenTimers.unit", "simulation"]
  },
  {
    name: "engine: a timer that finds no room is dropped",
    find: "this.deferred.push({ organization, kind, key, wakeAt, isAgain })",
    replace: "",
    sentence: "an alarm that was due while memory was full never rings",
    finders: ["boundedActors.unit", "simulation"]
  },
  {
    name: "engine: timers and signals of an abandoned frame are lost",
    find: "for (const entry of entries.toReversed()) if (entry.caller === undefined) this.putBack(entry)",
    replace: "",
    sentence: "what was due while the log was full never happens",
    finders: ["reactor.unit", "simulation"]
  },
  {
    name: "wakes: the time that a wake asks for is forgotten",
    find: "timers.set(cell, cell.dueAt > now ? cell.dueAt : Number.POSITIVE_INFINITY)",
    replace: "timers.set(cell, Number.POSITIVE_INFINITY)",
    sentence: "an actor that looks again later never does",
    finders: ["simulation"]
  },
  {
    name: "wakes: nobody is held up",
    find: "if (++this.count <= maximumWakes) return true",
    replace: "if (++this.count > 0) return true",
    sentence: "an actor whose wakes never end takes the partition for itself",
    finders: ["simulation"]
  },
  {
    name: "wakes: one held actor holds up the others",
    find: "if (cell?.timer !== timer || timer.wakeAt > now) continue",
    replace: "if (cell?.timer !== timer || timer.wakeAt > now) continue\n      if (cell.dueAt > now) return",
    sentence: "while an actor is held, the alarms of the others do not ring",
    finders: ["wakeBrake.unit", "wakeAgain.unit"]
  },
  {
    name: "wakes: a wake beside a refused frame counts",
    find: "if (cell.brake !== undefined) cell.brake.againAt = isAgain ? wakeAt : Number.NaN",
    replace: "",
    sentence: "an actor that has seen what was never stored sleeps on it",
    finders: ["wakeAgain.unit"]
  }
]
