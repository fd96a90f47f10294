/** Variants of the engine: wakes that ask to be woken again, and the brake. */
import { simulation, src, unit } from "./engineFinders.ts"
import type { Variant } from "./runner/variant.ts"

export const engineWakes: ReadonlyArray<Variant> = [
  {
    name: "wakes: the time that a wake asks for is forgotten",
    file: src("core/Drain"),
    find: "timers.set(cell, cell.dueAt > now ? cell.dueAt : Number.POSITIVE_INFINITY)",
    replace: "timers.set(cell, Number.POSITIVE_INFINITY)",
    sentence: "an actor that looks again later never does",
    finders: [simulation]
  },
  {
    name: "wakes: an actor that leaves memory takes along when it wants to be woken again",
    file: src("core/timers"),
    find: "    if (timer.isAgain) return\n",
    replace: "    if (timer.isAgain) return this.remove(timer)\n",
    sentence: "an actor that looks again later never does once it was idle",
    finders: [simulation]
  },
  {
    name: "wakes: an actor that comes back forgets when it wants to be woken again",
    file: src("core/timers"),
    find: "return timer.isAgain ? timer.wakeAt : Number.NaN",
    replace: "return Number.NaN",
    sentence: "each look at an idle actor wakes it before its time",
    finders: [simulation]
  },
  {
    name: "wakes: what a wake has asked for outlasts its state",
    file: src("core/Draft"),
    find: "      if (cell.brake !== undefined) cell.brake.againAt = Number.NaN\n",
    replace: "",
    sentence: "an actor is woken before the time that its new state wants",
    finders: [simulation]
  },
  {
    name: "wakes: nobody is held up",
    file: src("core/WakeBrake"),
    find: "if (++this.count <= maximumWakes) return true",
    replace: "if (++this.count > 0) return true",
    sentence: "an actor whose wakes never end takes the partition for itself",
    finders: [simulation]
  },
  {
    name: "wakes: a change of the state ends the hold",
    file: src("core/WakeBrake"),
    find: "return Math.max(wakeAt, this.heldUntil)",
    replace: "return wakeAt",
    sentence: "an actor that is held is woken at once when anybody asks it something",
    finders: [unit("wakeBrake")]
  },
  {
    name: "wakes: one held actor holds up the others",
    file: src("core/Drain"),
    find: "      if (cell?.timer !== timer || timer.wakeAt > now) continue\n",
    replace: "      if (cell?.timer !== timer || timer.wakeAt > now) continue\n      if (cell.dueAt > now) return\n",
    sentence: "while an actor is held, the alarms of the others do not ring",
    finders: [unit("wakeBrake", "wakeAgain")]
  },
  {
    name: "wakes: a wake beside a refused frame counts",
    file: src("core/Drain"),
    find: "      if (cell.brake !== undefined) cell.brake.againAt = isAgain ? wakeAt : Number.NaN\n",
    replace: "",
    sentence: "an actor that has seen what was never stored sleeps on it",
    finders: [unit("wakeAgain")]
  },
  {
    name: "wakes: a page brings back the time before",
    file: src("core/timers"),
    find: " || this.cold.get(nameOf(row))?.isAgain === true",
    replace: "",
    sentence: "an idle actor is woken before the time it asked for",
    finders: [unit("wakeAgain")]
  },
  {
    name: "wakes: times that no checkpoint has are forgotten for want of room",
    file: src("core/timers"),
    find: ".filter(({ isAgain }) => !isAgain)",
    replace: "",
    sentence: "an idle actor is not woken again once there are many others",
    finders: [unit("wakeAgain")]
  },
  {
    name: "wakes: actors that wait to be woken again leave without bound",
    file: src("core/timers"),
    find: " || this.againCount < maximumAgainTimers",
    replace: " || this.againCount >= 0",
    sentence: "timers of actors that are gone fill the memory",
    finders: [unit("wakeAgain")]
  },
  {
    name: "wakes: a wake may ask for a time that is over",
    file: src("core/rules"),
    find: "if (Number.isSafeInteger(time) && time > now)",
    replace: "if (Number.isSafeInteger(time))",
    sentence: "a rule that is wrong about the time is never told so",
    finders: [unit("wakeAgain")]
  },
  {
    name: "wakes: every hold is told",
    file: src("shell/BrakeWarnings"),
    find: "    if (monotonic - last < brakeWarningMillis) return\n",
    replace: "",
    sentence: "one broken rule fills the log of the machine",
    finders: [unit("wakeBrake")]
  }
]
