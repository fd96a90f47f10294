/** How much a log takes, as its partition estimates it between two looks: the reserve, refusals, and when it is asked anew. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { LogRoom } from "../../src/engine/core/log/LogRoom.ts"
import {
  fullHoldMillis,
  logReservePart,
  maximumLogReserveBytes,
  minimumLogReserveBytes,
  storedOverheadBytes
} from "../../src/engine/limits.ts"

const roomOf = (bytes: number, maximumBytes: number): LogRoom => {
  const room = new LogRoom()
  room.note({ bytes, maximumBytes })
  return room
}

describe("the room in a log", () => {
  it.each([
    ["a small one", 8_000, minimumLogReserveBytes],
    ["a middle one", 160_000, 160_000 / logReservePart],
    ["a large one", 1e9, maximumLogReserveBytes]
  ])("of %s leaves a reserve for claims and marks", (_, maximumBytes, reserve) => {
    const free = maximumBytes - reserve - storedOverheadBytes
    expect(roomOf(0, maximumBytes).forFacts(0)).toBe(free)
    expect(roomOf(free, maximumBytes).forFacts(0)).toBe(0)
    expect(roomOf(maximumBytes, maximumBytes).forFacts(0)).toBe(0)
  })

  it.prop(
    "is never overestimated: what is stored by it stays out of the reserve",
    [Arbitrary.schema(Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_000 }))))],
    ([sizes]) => {
      const maximumBytes = 20_000
      const room = roomOf(0, maximumBytes)
      let used = 0
      for (const size of sizes) {
        if (size > room.forFacts(0)) continue
        room.stored(size)
        used += size + storedOverheadBytes
        expect(used).toBeLessThanOrEqual(maximumBytes - maximumBytes / logReservePart)
      }
    }
  )

  it("is none for a second after the log itself has refused a frame, and then the log is asked", () => {
    const room = roomOf(0, 100_000)
    expect(room.wantsLook).toBe(false)
    room.refused(5_000)
    expect([room.forFacts(5_000), room.forFacts(5_000 + fullHoldMillis - 1)]).toEqual([0, 0])
    expect(room.wantsLook).toBe(true)
    // It says that there is room: that the refusal still counts a while keeps a log that contradicts itself from being hammered.
    room.note({ bytes: 0, maximumBytes: 100_000 })
    expect([room.wantsLook, room.forFacts(5_001), room.isHeld(5_001)]).toEqual([false, 0, true])
    expect(room.forFacts(5_000 + fullHoldMillis)).toBeGreaterThan(0)
    expect(room.isHeld(5_000 + fullHoldMillis)).toBe(false)
  })

  it("holds timers and signals where a decision found none, and asks the log at most once a second", () => {
    const room = roomOf(99_000, 100_000)
    room.missed(1_000)
    expect([room.wantsLook, room.isHeld(1_999), room.isHeld(2_000)]).toEqual([true, true, false])
    room.lookFailed()
    room.missed(1_500)
    expect([room.wantsLook, room.heldTo]).toEqual([false, 2_500])
    room.missed(2_000)
    expect(room.wantsLook).toBe(true)
    // Others have made room: nobody waits any longer.
    room.note({ bytes: 0, maximumBytes: 100_000 })
    expect([room.wantsLook, room.isHeld(2_001)]).toEqual([false, false])
  })

  it("is marked once each time that it has filled up", () => {
    const room = roomOf(0, 100_000)
    expect(room.wantsMark).toBe(false)
    room.note({ bytes: 95_000, maximumBytes: 100_000 })
    expect([room.isFull, room.wantsMark]).toEqual([true, true])
    room.marked()
    room.note({ bytes: 95_500, maximumBytes: 100_000 })
    expect(room.wantsMark).toBe(false)
    room.note({ bytes: 10_000, maximumBytes: 100_000 })
    expect(room.isFull).toBe(false)
    room.note({ bytes: 95_000, maximumBytes: 100_000 })
    expect(room.wantsMark).toBe(true)
  })

  it("of a new life is what the log said at its beginning", () => {
    const room = roomOf(95_000, 100_000)
    expect([room.wantsMark, room.wantsLook, room.isHeld(0)]).toEqual([true, false, false])
  })
})
