/** Whose mails are taken next, and how many: what a mail that takes long holds up, and what many mails of one account leave to others. */
import { describe, expect, it } from "@effect/vitest"
import type { MailResult } from "../../../src/send/handoff/emails.ts"
import { HandoffGroups, type Room } from "../../../src/send/handoff/HandoffGroups.ts"
import { handoffLanes } from "../../../src/send/handoff/jobs.ts"
import {
  countingMillis,
  countingPauseMillis,
  longestCountingMillis,
  longestRestMillis,
  maximumUnderWay,
  restMillis,
  restMillisAfter,
  underWayLimits
} from "../../../src/send/handoff/limits.ts"

const group = (name: string) => ({ partition: 0, group: `${name}/live` })

/** The groups with what they have asked for. */
const started = (takingPlaces = 16) => {
  const takes: Array<{ readonly name: string; readonly room: Room; readonly isQueued: boolean }> = []
  const records: Array<string> = []
  let refills = 0
  const rests: Array<string> = []
  const lefts: Array<string> = []
  const groups = new HandoffGroups({
    takingPlaces,
    take: ({ group: name }, room, isQueued) => void takes.push({ name: name.split("/")[0]!, room, isQueued }),
    record: ({ group: name }) => void records.push(name.split("/")[0]!),
    refillLater: () => void refills++,
    restLater: ({ group: name }) => void rests.push(name.split("/")[0]!),
    leave: ({ group: name }) => void lefts.push(name.split("/")[0]!)
  })
  groups.liveWaits = false
  return { groups, takes, records, rests, lefts, refills: () => refills }
}

const attempted = (id: string, lane = 0): MailResult => ({
  job: { id, group: "a/live", lane, attempt: 1, leasedUntil: 0, expiresAt: null, payload: "" },
  reports: [],
  outcome: { _tag: "Done", id, attempt: 1 }
})

/** Whether the queue has more. */
const more = (isQueued: boolean) => ({ isQueued, isOffered: false })

const first = (count: number): ReadonlyArray<number> => Array.from({ length: count }, () => 0)

describe("an account", () => {
  it("takes as many mails as it has room for, and not again while it takes", () => {
    const { groups, takes } = started()
    groups.want([group("a")])
    groups.want([group("a")])
    expect(takes).toMatchObject([{ name: "a", room: underWayLimits }])
    groups.taken(group("a"), [], more(false))
    expect(takes).toHaveLength(2)
  })

  it("that has taken few rests, and takes together what has come meanwhile; nobody else waits for it", () => {
    const { groups, rests, takes } = started()
    groups.want([group("a")])
    groups.taken(group("a"), first(1), more(true))
    groups.recorded(group("a"), first(1))
    groups.want([group("a"), group("b")])
    expect(takes.map(({ name }) => name)).toEqual(["a", "b"])
    expect(rests).toEqual(["a"])
    groups.rested(group("a"))
    expect(takes.map(({ name }) => name)).toEqual(["a", "b", "a"])
    groups.taken(group("a"), [], more(false))
    groups.want([group("a")])
    expect(takes).toHaveLength(4)
    expect(rests).toEqual(["a"])
  })

  it("takes more when half of its room is free again, whatever one of its mails is waiting for", () => {
    const { groups, takes } = started()
    groups.want([group("a")])
    groups.taken(group("a"), [...first(30), 1], more(true))
    expect(takes).toHaveLength(1)
    groups.recorded(group("a"), first(14))
    expect(takes).toHaveLength(1)
    groups.recorded(group("a"), first(1))
    expect(takes[1]).toMatchObject({ name: "a", room: [15, 9, 10] })
  })

  it("takes what there is room for after a moment, be it little", () => {
    const { groups, refills, takes } = started()
    groups.want([group("a")])
    groups.taken(group("a"), first(30), more(true))
    groups.recorded(group("a"), first(1))
    groups.recorded(group("a"), first(1))
    expect([takes.length, refills()]).toEqual([1, 1])
    groups.refill()
    expect(takes[1]).toMatchObject({ name: "a", room: [2, 10, 10] })
  })

  it("of which every mail waits takes no more", () => {
    const { groups, takes } = started()
    groups.want([group("a")])
    groups.taken(
      group("a"),
      underWayLimits.flatMap((limit, lane) => Array.from({ length: limit }, () => lane)),
      more(true)
    )
    groups.refill()
    expect(takes).toHaveLength(1)
  })

  it("has those of its mails recorded together that end while others are being recorded", () => {
    const { groups, records } = started()
    groups.want([group("a")])
    groups.taken(group("a"), first(3), more(false))
    groups.ended(group("a"), attempted("1"))
    expect(records).toEqual(["a"])
    expect(groups.toRecord(group("a")).map(({ job }) => job.id)).toEqual(["1"])
    groups.ended(group("a"), attempted("2"))
    groups.ended(group("a"), attempted("3"))
    expect(records).toEqual(["a"])
    expect(groups.toRecord(group("a")).map(({ job }) => job.id)).toEqual(["2", "3"])
    expect(groups.toRecord(group("a"))).toEqual([])
    groups.ended(group("a"), attempted("4"))
    expect(records).toEqual(["a", "a"])
  })
})

describe("mails in memory", () => {
  it("are taken without the queue, unless the queue has some too", () => {
    const { groups, takes } = started()
    groups.offered([group("a")])
    groups.offered([group("b")])
    groups.taken(group("a"), first(15), more(false))
    groups.want([group("a")])
    groups.taken(group("a"), [], { isQueued: false, isOffered: true })
    expect(takes.map(({ isQueued, name }) => [name, isQueued])).toEqual([
      ["a", false],
      ["b", false],
      ["a", true],
      ["a", false]
    ])
  })

  it("rest a moment after few, and go although all retries of their account are under way", () => {
    const { groups, rests, takes } = started()
    groups.want([group("a")])
    groups.taken(group("a"), [...first(14), ...Array.from({ length: 10 }, () => handoffLanes.again)], more(false))
    groups.offered([group("a")])
    expect(takes).toHaveLength(2)
    groups.taken(group("a"), first(1), more(false))
    groups.offered([group("a")])
    expect([takes.length, rests]).toEqual([2, ["a"]])
    groups.rested(group("a"))
    expect(takes).toHaveLength(3)
  })

  it("are left to the queue where nothing takes live mail over", () => {
    const { groups, lefts, takes } = started()
    groups.liveWaits = true
    groups.offered([group("a"), { partition: 0, group: "b/test" }])
    expect([takes.map(({ name }) => name), lefts]).toEqual([["b"], ["a"]])
  })
})

describe("many accounts", () => {
  it("take turns: one that has more goes behind those that wait", () => {
    const { groups, takes } = started(1)
    groups.want([group("a"), group("b"), group("c")])
    groups.taken(group("a"), first(15), more(true))
    groups.taken(group("b"), first(15), more(true))
    groups.taken(group("c"), first(15), more(true))
    expect(takes.map(({ name }) => name)).toEqual(["a", "b", "c", "a"])
  })

  it("of which many have a mail that takes long leave the others their places", () => {
    const { groups, takes } = started()
    const slow = Array.from({ length: 100 }, (_, index) => group(`slow${index}`))
    for (const one of slow) {
      groups.want([one])
      groups.taken(one, first(1), more(false))
    }
    groups.want([group("fast")])
    expect(takes.at(-1)).toMatchObject({ name: "fast", room: underWayLimits })
  })

  it("have no more mails under way together than fit into memory", () => {
    const { groups, takes } = started()
    let underWay = 0
    for (let index = 0; index < 100; index++) {
      const one = group(`many${index}`)
      groups.want([one])
      const { name, room } = takes.at(-1)!
      if (name !== `many${index}`) break
      const lanes = room.flatMap((limit, lane) => Array.from({ length: limit }, () => lane))
      underWay += lanes.length
      groups.taken(one, lanes, more(false))
    }
    expect(underWay).toBe(maximumUnderWay)
    const taken = takes.length
    groups.recorded(group("many0"), first(1))
    groups.refill()
    // What is free goes to who has waited for longest.
    expect(takes[taken]).toMatchObject({ name: "many16", room: [1, 0, 0] })
  })

  it("whose mail has nobody to take it over are found again by the next scan", () => {
    const { groups, takes } = started()
    groups.liveWaits = true
    groups.want([group("a"), { partition: 0, group: "b/test" }])
    expect(takes.map(({ name }) => name)).toEqual(["b"])
    expect(groups.hasWaiting).toBe(true)
  })
})

describe("under load", () => {
  it("accounts rest longer the longer it takes to look at their mails, within bounds", () => {
    expect([0, 40, 100, 10_000].map(restMillisAfter)).toEqual([restMillis, restMillis, 500, longestRestMillis])
  })

  it("the queue is counted the more seldom the longer that takes", () => {
    expect([0, 100, 300, 60_000].map(countingPauseMillis)).toEqual([
      countingMillis,
      countingMillis,
      30_000,
      longestCountingMillis
    ])
  })
})
