/** Variants of the engine: messages to other organizations. */
import { simulation, src, unit } from "./engineFinders.ts"
import type { Variant } from "./runner/variant.ts"

export const engineOutbox: ReadonlyArray<Variant> = [
  {
    name: "engine: a message that was taken in is decided again",
    file: src("outbox"),
    find: 'if (last !== null && !isBehind(this.origin, last)) return received("repeated")',
    replace: 'if (last === this.origin) return received("repeated")',
    sentence: "a message that is sent again after a crash, or after an answer was lost, takes effect twice",
    finders: [unit("outbox"), simulation]
  },
  {
    name: "engine: the outbox's cursor moves before delivery",
    file: src("shell/Outbox"),
    find: "return this.open[this.firstOpen]?.before ?? this.read",
    replace: "return this.read",
    sentence: "a message whose receiver was away when its sender crashed never arrives",
    finders: [unit("outbox"), simulation]
  },
  {
    name: "engine: messages overtake each other",
    file: src("outbox"),
    find: "if (this.after !== undefined && (last === null || isBehind(this.after, last)))",
    replace: "if (this.after !== undefined && last === undefined)",
    sentence: "a message that waits for its actor is overtaken by the next one, and counts as taken in then",
    finders: [simulation]
  },
  {
    name: "engine: messages pass those that are parked",
    file: src("shell/sending"),
    find: "if ((this.isAnyParked || this.parked.has(lane.receiver)) &&",
    replace: "if (this.isAnyParked &&",
    sentence: "a later message is taken in before one that is parked, which is lost then when it is sent again",
    finders: [unit("outbox"), simulation]
  },
  {
    name: "engine: a new epoch's messages are taken for repeats",
    file: src("outbox"),
    find: "left[0] !== right[0] ? left[0] > right[0] : left[1]",
    replace: "left[1]",
    sentence: "after the end of a log was lost, messages at the places of lost ones are never decided",
    finders: [unit("outboxOrigins")]
  }
]
