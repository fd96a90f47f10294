/** Variants of the engine: decisions, ids, bounds, what is kept in memory and in checkpoints, timers. */
import { simulation, src, unit } from "./engineFinders.ts"
import type { Variant } from "./runner/variant.ts"

export const engineMemory: ReadonlyArray<Variant> = [
  {
    name: "engine: timers leave nothing to others",
    file: src("core/Drain"),
    find: "const timersMay = signals.isReady || mailbox.hasRunnable ? timersShare : 1",
    replace: "const timersMay = 1",
    sentence: "commands wait behind a herd of due timers for dozens of frames",
    finders: [unit("shares")]
  },
  {
    name: "engine: a command at which a drain breaks is forgotten",
    file: src("core/Drain"),
    find: "          this.putBack(inHand)",
    replace: "",
    sentence: "a caller whose command breaks the core never gets an answer",
    finders: [unit("drain")]
  },
  {
    name: "engine: a state that outgrew its facts is never measured",
    file: src("core/rows"),
    find: "cell.bytes = Math.max(cell.bytes, Buffer.byteLength(text))",
    replace: "cell.bytes += 0",
    sentence: "a small fact that makes a large state is taken again and again",
    finders: [unit("bounds")]
  },
  {
    name: "engine: a replay asks nobody for room",
    file: src("core/replay"),
    find: "        memory.admitsActor()\n",
    replace: "",
    sentence:
      "a partition that recovers takes a process beyond its bound of actors although others' idle ones could leave",
    finders: [unit("actorMemory")]
  },
  {
    name: "engine: an id of a decision may equal an event's",
    file: src("ids"),
    find: "{ decided: 0, event: 1 }",
    replace: "{ decided: 1, event: 1 }",
    sentence: "an id that a rule asks for is the id of an event of the same frame",
    finders: [unit("derivedIds"), simulation]
  },
  {
    name: "engine: ids of discarded drains are not given back",
    file: src("core/Drain"),
    find: "else decider.draft.forgetIds(idsGiven)",
    replace: "else decider.draft.forgetIds(decider.draft.idsGiven)",
    sentence: "a drain that is decided again uses up the ids of its frame",
    finders: [unit("foundBySeeds", "derivedIds"), simulation]
  },
  {
    name: "engine: a state of exactly 64 KiB is refused",
    file: src("core/Draft"),
    find: "        if (bytes <= maximumStateBytes) continue",
    replace: "        if (bytes < maximumStateBytes) continue",
    sentence: "a state that is as large as it may be is refused",
    finders: [unit("bounds"), simulation]
  },
  {
    name: "engine: a state is measured in characters",
    file: src("core/Draft"),
    find: "const bytes = Buffer.byteLength(JSON.stringify(cell.actor.encodeState(cell.draft)))",
    replace: "const bytes = JSON.stringify(cell.actor.encodeState(cell.draft)).length",
    sentence: "a state of other characters than ASCII grows beyond its bound",
    finders: [unit("bounds"), simulation]
  },
  {
    name: "engine: a loaded state counts as empty",
    file: src("core/rows"),
    find: "      cell.bytes = Math.max(cell.bytes, Buffer.byteLength(row.state))\n",
    replace: "",
    sentence: "a state that was loaded may grow to twice its bound",
    finders: [unit("bounds"), simulation]
  },
  {
    name: "engine: a state is not checked by its schema",
    file: src("core/Draft"),
    find: "        checkState(cell.actor, cell.draft)\n",
    replace: "",
    sentence: "a state that its schema refuses is stored, and cannot be read after a restart",
    finders: [unit("rules"), simulation]
  },
  {
    name: "engine: a time to wake may be no number",
    file: src("core/rules"),
    find: " || Number.isNaN(at)",
    replace: "",
    sentence: "a rule that answers no number takes its actor's alarms with it, and nobody is told",
    finders: [unit("rules"), simulation]
  },
  {
    name: "engine: an undone decision leaves its time to wake",
    file: src("core/Draft"),
    find: "      cell.draftWakeAt = wakeAt\n",
    replace: "",
    sentence: "an alarm that was refused rings, and the one that was set does not",
    finders: [unit("rules"), simulation]
  },
  {
    name: "engine: a command that can never fit is told to come again",
    file: src("core/Gathering"),
    find: "    if (needed > maximumActors) throw new MoreThanFit(needed, maximumActors)\n",
    replace: "",
    sentence: "a caller repeats for ever what no room will ever be found for",
    finders: [unit("coreRoom"), simulation]
  },
  {
    name: "engine: one actor less may be named",
    file: src("core/Gathering"),
    find: "if (names.length > maximumTouchedActors)",
    replace: "if (names.length >= maximumTouchedActors)",
    sentence: "a decision over as many actors as are allowed is refused",
    finders: [unit("bounds"), simulation]
  },
  {
    name: "engine: a decision does not see the one before it",
    file: src("core/Decider"),
    find: "const state = this.draft.stateOf(cell)",
    replace: "const state = cell.state",
    sentence: "two decisions of one frame both spend the same",
    finders: [unit("engine"), simulation]
  },
  {
    name: "engine: a decision with events alone is not stored",
    file: src("core/rules"),
    find: "facts.length > 0 || others.length > 0 || events.length > 0 || messages.length > 0",
    replace: "facts.length > 0 || others.length > 0 || messages.length > 0",
    sentence: "events of a decision without facts are lost, and its caller is told otherwise",
    finders: [unit("changesKept"), simulation]
  },
  {
    name: "engine: messages alone are not stored",
    file: src("core/rules"),
    find: "facts.length > 0 || others.length > 0 || events.length > 0 || messages.length > 0",
    replace: "facts.length > 0 || others.length > 0 || events.length > 0",
    sentence: "messages of a decision without facts are never sent, and its caller is told otherwise",
    finders: [unit("outbox"), simulation]
  },
  {
    name: "engine: facts for others alone are not stored",
    file: src("core/rules"),
    find: "facts.length > 0 || others.length > 0 || events.length > 0 || messages.length > 0",
    replace: "facts.length > 0 || events.length > 0 || messages.length > 0",
    sentence: "facts that a decision has for another actor alone are lost, and its caller is told otherwise",
    finders: [unit("changesKept"), simulation]
  },
  {
    name: "engine: a quarantined organization decides",
    file: src("core/Decider"),
    find: "    if (organization.quarantine !== undefined)\n",
    replace: "    if (organization.quarantine === null)\n",
    sentence: "rules decide beside facts that nobody could read",
    finders: [unit("rules"), simulation]
  },
  {
    name: "engine: an organization is forgotten with a command of it in hand",
    file: src("core/ActorMemory"),
    find: "    if (organization.cellCount === 0) this.emptied.add(organization)",
    replace:
      "    if (organization.cellCount > 0) return\n    this.emptied.add(organization)\n    this.releaseEmptied()",
    sentence: "a command is decided over a state that the next one does not see",
    finders: [unit("engine", "actorMemory"), simulation]
  },
  {
    name: "engine: stalled commands have no bound",
    file: src("core/Mailbox"),
    find: "return this.stalled < Math.max(1, this.capacity / 2)",
    replace: "return true",
    sentence: "while the checkpoints hang commands that wait for them fill the memory",
    finders: [unit("mailboxModel", "boundedActors"), simulation]
  },
  {
    name: "engine: a load that fails leaves its waiters",
    file: src("core/ActorLoader"),
    find: "      this.release(cell, error)\n      // The running",
    replace: "      // The running",
    sentence: "whoever waits for an actor that could not be read is never answered",
    finders: [unit("boundedActors"), simulation]
  },
  {
    name: "engine: idle actors that change are not kept",
    file: src("core/ActorMemory"),
    find: "    this.dirty.add(cell)\n    if (cell.isIdle) this.unlist(cell)\n",
    replace: "    if (!cell.isIdle) this.dirty.add(cell)\n",
    sentence: "a change that no checkpoint holds is lost with an idle actor",
    finders: [unit("changesKept"), simulation]
  },
  {
    name: "engine: changes during a checkpoint count as written",
    file: src("core/ActorMemory"),
    find: "      if (cell.changedAt > sequence) continue\n",
    replace: "",
    sentence: "a change that came while a checkpoint was written is lost with an idle actor",
    finders: [unit("changesKept"), simulation]
  },
  {
    name: "engine: a checkpoint holds what is not stored",
    file: src("core/CheckpointSide"),
    find: "actors.push({ cell, state: cell.state,",
    replace: "actors.push({ cell, state: cell.draft ?? cell.state,",
    sentence: "facts that were never stored are there after a restart",
    finders: [unit("durability"), simulation]
  },
  {
    name: "engine: lanes forget windows that have not ended",
    file: src("core/lanes"),
    find: "return !(this.host.memory.registry.lanes[cell.laneIndex]!.options.keepUntil(cell.state) > now)",
    replace: "return true",
    sentence: "a request limit counts from zero again within its window",
    finders: [unit("engine"), simulation]
  },
  {
    name: "engine: a timer that broke once is refused for ever",
    file: src("core/Draft"),
    find: "      cell.suspendedWakeAt = Number.NaN\n      if (cell.brake !== undefined) cell.brake.againAt = Number.NaN\n      timers.set",
    replace:
      "      if (cell.brake !== undefined) cell.brake.againAt = Number.NaN\n      if (Number.isNaN(cell.suspendedWakeAt)) timers.set",
    sentence: "an alarm whose rule threw once never rings again at later times",
    finders: [unit("brokenTimers"), simulation]
  },
  {
    name: "engine: a timer that was rejected is not set again",
    file: src("core/Draft"),
    find: "      cell.suspendedWakeAt = Number.NaN\n",
    replace: "",
    sentence: "an alarm that is set anew to the same time does not ring",
    finders: [unit("brokenTimers"), simulation]
  },
  {
    name: "engine: timers of replayed frames are lost",
    file: src("core/replay"),
    find: "          timers.set(cell, cell.wakeAt)\n",
    replace: "",
    sentence: "an alarm that was set shortly before a restart does not ring",
    finders: [unit("brokenTimers"), simulation]
  },
  {
    name: "engine: timers are not in checkpoints",
    file: src("core/rows"),
    find: "wakeAt: never ? null : wakeAt",
    replace: "wakeAt: null",
    sentence: "an alarm does not ring after a restart",
    finders: [unit("stopping"), simulation]
  },
  {
    name: "engine: an actor that is over loses its timer",
    file: src("core/rows"),
    find: "text = never && isOver(actor, state) ? null",
    replace: "text = isOver(actor, state) ? null",
    sentence: "an alarm of an actor that looks unused does not ring after a restart",
    finders: [unit("rules"), simulation]
  },
  {
    name: "engine: actors with a timer leave while a page is read",
    file: src("core/ActorMemory"),
    find: "    if (this.keepsTimers && cell.wakeAt !== Number.POSITIVE_INFINITY) return false\n",
    replace: "",
    sentence: "an alarm whose actor left memory in that moment does not ring",
    finders: [unit("actorMemory"), simulation]
  },
  {
    name: "engine: a timer that finds no room is dropped",
    file: src("core/ActorLoader"),
    find: "    this.deferred.push({ organization, kind, key, wakeAt, isAgain })\n",
    replace: "",
    sentence: "an alarm that was due while memory was full never rings",
    finders: [unit("boundedActors"), simulation]
  },
  {
    name: "engine: timers and signals of an abandoned frame are lost",
    file: src("core/Drain"),
    find: "    for (const entry of entries.toReversed()) if (entry.caller === undefined) this.putBack(entry)\n",
    replace: "",
    sentence: "what was due while the log was full never happens",
    finders: [unit("reactor"), simulation]
  }
]
