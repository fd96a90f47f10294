/**
 * The mailbox of docs/architecture.md, rule 13 against a naive model: order, turns, shares, bytes, and commands that
 * wait for an actor's state.
 */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import type { Entry } from "../../src/engine/core/actors/Organization.ts"
import { Mailbox } from "../../src/engine/core/drain/Mailbox.ts"
import { entryOf, makeBounds, makeMemory } from "./support/memory.ts"

const capacity = 16
const mailboxBytes = 64
/** A quarter of each. */
const share = 4
const shareBytes = 16

const Step = Schema.Struct({
  /** Offering is as frequent as all the rest, so that queues fill up. */
  act: Schema.Literals([
    "offer",
    "offer",
    "offer",
    "offer",
    "take",
    "take",
    "put back",
    "stall",
    "unstall",
    "take all"
  ]),
  of: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
  bytes: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
})
const Steps = Schema.Array(Step).check(Schema.isMaxLength(120))

interface Queue {
  entries: Array<Entry>
  stalled: Array<Entry>
}

const bytesOf = (entries: ReadonlyArray<Entry>) => entries.reduce((sum, { bytes }) => sum + bytes, 0)

describe("rule 13, the mailbox", () => {
  it.prop(
    "keeps each organization's order, its bounds of commands and bytes, and gives everybody a turn",
    [Arbitrary.schema(Steps)],
    ([steps]) => {
      const bounds = makeBounds({ mailboxBytes })
      const memory = makeMemory(bounds)
      const mailbox = new Mailbox(capacity, bounds)
      const queues = new Map<string, Queue>()
      /** What was taken and is neither stalled nor done with. */
      const inHand: Array<Entry> = []
      /** Organizations that have waited without a pause since the last turn of the key. */
      const passedOver = new Map<string, Map<string, boolean>>()
      const queueOf = (name: string): Queue => {
        const found = queues.get(name) ?? { entries: [], stalled: [] }
        queues.set(name, found)
        return found
      }
      const emptied = (name: string) => {
        for (const waiting of passedOver.values()) waiting.delete(name)
      }
      for (const { act, bytes, of } of steps) {
        const name = `org_${of}`
        const queue = queueOf(name)
        if (act === "offer") {
          const entry = entryOf(memory, name, null, bytes)
          const all = [...queues.values()]
          const total = bytesOf(all.flatMap(({ entries, stalled }) => [...entries, ...stalled]))
          const own = [...queue.entries, ...queue.stalled]
          const fits =
            all.reduce((sum, { entries }) => sum + entries.length, 0) < capacity &&
            own.length < share &&
            total + bytes <= mailboxBytes &&
            bytesOf(own) + bytes <= shareBytes
          expect(mailbox.offer(entry)).toBe(fits)
          if (fits) queue.entries.push(entry)
        } else if (act === "take") {
          const entry = mailbox.take()
          if (entry === undefined) {
            expect([...queues.values()].flatMap(({ entries }) => entries)).toEqual([])
            continue
          }
          const taken = entry.organization.name
          expect(queueOf(taken).entries.shift()).toBe(entry)
          inHand.push(entry)
          // Nobody who waited all the while since its last turn was passed over.
          expect([...(passedOver.get(taken) ?? [])].filter(([, hadTurn]) => !hadTurn)).toEqual([])
          for (const waiting of passedOver.values()) if (waiting.has(taken)) waiting.set(taken, true)
          if (queueOf(taken).entries.length === 0) emptied(taken)
          const others = [...queues].filter(([other, { entries }]) => other !== taken && entries.length > 0)
          passedOver.set(taken, new Map(others.map(([other]) => [other, false])))
        } else if (act === "put back") {
          const entry = inHand.pop()
          if (entry === undefined) continue
          mailbox.putBack(entry)
          queueOf(entry.organization.name).entries.unshift(entry)
        } else if (act === "stall") {
          if (!mailbox.admitsStalled) continue
          const entry = inHand.pop()
          if (entry === undefined) continue
          mailbox.stall(entry)
          queueOf(entry.organization.name).stalled.push(entry)
        } else if (act === "unstall") {
          const entry = queue.stalled.pop()
          if (entry === undefined) continue
          mailbox.unstall(entry)
          mailbox.putBack(entry)
          queue.entries.unshift(entry)
        } else {
          expect(mailbox.takeAllOf(memory.organization(name)!)).toEqual(queue.entries)
          queue.entries = []
          emptied(name)
        }
        const all = [...queues.values()]
        expect(mailbox.size).toBe(all.reduce((sum, { entries }) => sum + entries.length, 0))
        expect(mailbox.stalled).toBe(all.reduce((sum, { stalled }) => sum + stalled.length, 0))
        expect(mailbox.admitsStalled).toBe(mailbox.stalled < capacity / 2)
        expect(mailbox.hasRunnable).toBe(mailbox.size > 0)
        expect(bounds.commandBytes).toBe(bytesOf(all.flatMap(({ entries, stalled }) => [...entries, ...stalled])))
      }
    }
  )

  it("serves one entry of each organization before a second one of any", () => {
    const bounds = makeBounds()
    const memory = makeMemory(bounds)
    const mailbox = new Mailbox(400, bounds)
    for (let n = 0; n < 90; n++) mailbox.offer(entryOf(memory, "loud", n))
    for (const quiet of ["a", "b", "c"]) mailbox.offer(entryOf(memory, quiet, 0))
    const first = Array.from({ length: 4 }, () => mailbox.take()?.organization.name)
    expect(first.sort()).toEqual(["a", "b", "c", "loud"])
  })

  it("counts commands that wait for a state against their organization's share, not against the others' room", () => {
    const bounds = makeBounds()
    const memory = makeMemory(bounds)
    const mailbox = new Mailbox(8, bounds)
    const offer = (name: string) => mailbox.offer(entryOf(memory, name, null))
    for (const name of ["a", "b"]) {
      for (let n = 0; n < 2; n++) {
        expect(offer(name)).toBe(true)
        mailbox.stall(mailbox.take()!)
      }
      expect(offer(name)).toBe(false)
    }
    expect([mailbox.size, mailbox.stalled, mailbox.admitsStalled]).toEqual([0, 4, false])
    expect(["c", "d", "e", "f"].flatMap((name) => [offer(name), offer(name)])).toEqual(Array(8).fill(true))
    expect(offer("g")).toBe(false)
  })

  it("shares its bytes with the other partitions of the process", () => {
    const bounds = makeBounds({ mailboxBytes: 100 })
    const [one, two] = [makeMemory(bounds), makeMemory(bounds)]
    const [first, second] = [new Mailbox(100, bounds), new Mailbox(100, bounds)]
    for (const name of ["a", "b", "c", "d"]) expect(first.offer(entryOf(one, name, null, 25))).toBe(true)
    expect(second.offer(entryOf(two, "e", null, 1))).toBe(false)
    first.take()
    expect(second.offer(entryOf(two, "e", null, 25))).toBe(true)
  })
})
