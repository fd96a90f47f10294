/** Variants of the engine's core alone: what comes in, is refused, or waits. */
import { src, unit } from "./engineFinders.ts"
import type { Variant } from "./runner/variant.ts"

export const coreIntake: ReadonlyArray<Variant> = [
  {
    name: "core: queries are answered by a partition that does not serve",
    file: src("core/Intake"),
    find: "if (this.refusal === undefined && this.parts.time.isFresh(now)) {",
    replace: "if (this.parts.time.isFresh(now)) {",
    sentence: "an owner that was fenced answers queries from its old state",
    finders: [unit("coreIntake")]
  },
  {
    name: "core: lanes are asked in a partition that does not serve",
    file: src("core/Intake"),
    find: "    if (this.refusal !== undefined) return { accepted: false, value: this.refusal.error }\n",
    replace: "",
    sentence: "request limits are counted by an owner that was replaced",
    finders: [unit("coreIntake")]
  },
  {
    name: "core: lanes let their proof grow old",
    file: src("core/Intake"),
    find: "if (answer === undefined || this.parts.time.isRenewalDue(now)) {",
    replace: "if (answer === undefined) {",
    sentence: "every five seconds the asks of a busy lane wait for the log",
    finders: [unit("coreIntake")]
  },
  {
    name: "core: lanes are told the time of the last turn",
    file: src("core/Intake"),
    find: "    this.parts.now.set(now)\n    const answer = this.parts.lanes.ask",
    replace: "    const answer = this.parts.lanes.ask",
    sentence: "a request limit of a minute that has begun is counted into the one before",
    finders: [unit("coreIntake")]
  },
  {
    name: "core: a signal wakes nobody",
    file: src("core/Intake"),
    find: "    this.parts.loader.prefetch(entry)\n    this.options.host.wake()",
    replace: "    this.parts.loader.prefetch(entry)",
    sentence: "a bounce waits until somebody asks something",
    finders: [unit("coreIntake")]
  },
  {
    name: "core: asks of lanes are not failed with what waits",
    file: src("core/Intake"),
    find: "      this.parts.memory.noteEmptied(organization)\n    }\n    for (const ask of this.parts.lanes.takeUnconfirmed()) host.reply(ask.caller, false, error)",
    replace: "      this.parts.memory.noteEmptied(organization)\n    }",
    sentence: "an ask of a lane is never answered when its partition moves",
    finders: [unit("coreIntake")]
  },
  {
    name: "core: asks of lanes that wait for a proof outlive a life",
    file: src("core/Intake"),
    find: "    this.parts.loader.failLanes(error)\n    for (const ask of this.parts.lanes.takeUnconfirmed()) this.options.host.reply(ask.caller, false, error)",
    replace: "    this.parts.loader.failLanes(error)",
    sentence: "an ask of a lane is answered only when the next life has begun",
    finders: [unit("coreIntake")]
  },
  {
    name: "core: a shutdown does not wait for what is being loaded",
    file: src("core/Intake"),
    find: "this.parts.mailbox.size === 0 && this.parts.mailbox.stalled === 0",
    replace: "this.parts.mailbox.size === 0",
    sentence: "a command that was accepted is refused by a shutdown that could have decided it",
    finders: [unit("coreIntake")]
  },
  {
    name: "core: asks of lanes wait for a proof without bound",
    file: src("core/lanes"),
    find: "this.waiting + this.unconfirmed.length < maximumWaitingLaneAsks",
    replace: "this.waiting < maximumWaitingLaneAsks",
    sentence: "while a log is away asks of lanes fill the memory",
    finders: [unit("coreIntake")]
  },
  {
    name: "core: lanes that have ended make no room",
    file: src("core/lanes"),
    find: "      if (now - this.sweptAt >= 1_000) this.sweep(now)\n",
    replace: "",
    sentence: "with many organizations new ones find no limiter until the next sweep",
    finders: [unit("coreIntake")]
  },
  {
    name: "core: lanes of a quarantined organization decide",
    file: src("core/lanes"),
    find: "      if (quarantine !== undefined) return { accepted: false, value: quarantined(organization.name, quarantine) }\n",
    replace: "",
    sentence: "a limit is taken from a state that nobody could read",
    finders: [unit("coreIntake")]
  },
  {
    name: "core: commands that wait have no size",
    file: src("core/Intake"),
    find: "    entry.bytes = estimateBytes(command)\n",
    replace: "",
    sentence: "large commands fill the memory of a process",
    finders: [unit("coreIntake")]
  },
  {
    name: "core: a refused command leaves its organization behind",
    file: src("core/Intake"),
    find: "    this.parts.memory.noteEmptied(organization)\n    if (this.parts.mailbox.offer(entry))",
    replace: "    if (this.parts.mailbox.offer(entry))",
    sentence: "names that are made up fill the memory of a process",
    finders: [unit("coreIntake")]
  },
  {
    name: "core: queries are no use of an actor",
    file: src("core/Intake"),
    find: "        this.parts.memory.use(cell, now.monotonic)\n",
    replace: "",
    sentence: "an actor that is only queried is loaded every five minutes",
    finders: [unit("coreIntake")]
  },
  {
    name: "core: a page for the life before counts",
    file: src("core/TimerPages"),
    find: "    if (request.life !== this.life) return false\n",
    replace: "",
    sentence: "alarms that were stored since are not looked for after a restart",
    finders: [unit("coreLives")]
  }
]
