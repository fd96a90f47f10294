/** Drawn histories of a sender: its tier against totals counted anew at every hour, its queue against a list of emails. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  type CancelledPage,
  domainTier,
  emptyPage,
  type HoldsFact,
  holds,
  nextPromotion,
  nextRelease,
  pageOf,
  SendLimits,
  waiting,
  withCancelled
} from "../../src/send/index.ts"
import { often } from "../support/often.ts"
import { living } from "./given.ts"

const { hourMillis, dayMillis, releaseMillis } = SendLimits
const start = Date.UTC(2027, 11, 30, 17, 3, 9, 11)
const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

describe("[platform 9.5] a tier against totals that are counted at every hour", () => {
  const Step = Schema.Struct({
    elapsed: Schema.Union([Schema.Literal(0), int(0, hourMillis), int(0, 4 * dayMillis)]),
    toHour: Schema.Literals([false, false, true]),
    act: Schema.Literals(["HandOver", "HandOver", "HandOver", "Bounce", "Complain", "Check"]),
    emails: Schema.Union([int(1, 60), int(1, 4_000)])
  })

  it.prop(
    "promotes at the same hours",
    [Schema.Array(Step).check(Schema.isMinLength(30), Schema.isMaxLength(60))],
    ([history]) => {
      const sender = living(domainTier)
      sender.ask({ _tag: "Verify" }, start)
      const events: Array<{ readonly at: number; readonly act: string; readonly emails: number }> = []
      let tier = "new"
      let now = start
      let checked = Math.floor(start / hourMillis)
      const check = (at: number): void => {
        const before = events.filter((event) => event.at < at)
        const count = (act: string) =>
          before.filter((event) => event.act === act).reduce((sum, { emails }) => sum + emails, 0)
        const handed = count("HandOver")
        const below = (act: string, rate: number) =>
          count(act) / handed < rate && Math.abs(count(act) / handed - rate) > 1e-9
        const days = (at - start) / dayMillis
        if (tier === "new" && handed >= 100 && days >= 3 && below("Bounce", 0.01) && below("Complain", 0.0005))
          tier = "warming"
        else if (
          tier === "warming" &&
          handed >= 5_000 &&
          days >= 14 &&
          below("Bounce", 0.005) &&
          below("Complain", 0.0003)
        )
          tier = "trusted"
      }
      for (const { act, elapsed, emails, toHour } of history) {
        now = toHour ? Math.ceil((now + elapsed) / hourMillis) * hourMillis : now + elapsed
        while ((checked + 1) * hourMillis <= now) check(++checked * hourMillis)
        const { reply } = sender.ask(act === "HandOver" ? { _tag: act, emails } : { _tag: act }, now)
        expect(reply?.tier).toBe(tier)
        if (act !== "Check") events.push({ at: now, act, emails: act === "HandOver" ? emails : 1 })
      }
      const at = nextPromotion(sender.state())?.at
      if (at === undefined) return
      // It wakes where something changes, and nowhere before.
      expect(sender.ask({ _tag: "Check" }, at - 1).facts).toEqual([])
      expect(sender.ask({ _tag: "Check" }, at).facts).toHaveLength(1)
    },
    { arbitrary: { runs: often(60) } }
  )
})

interface Held {
  readonly place: number
  readonly heldUntil: number
  cancelled: boolean
  releasedAt: number | undefined
}

/** A sender's queue with everything that ever went through it. */
class Queue {
  readonly sender = living(holds)
  readonly held: Array<Held> = []
  readonly releasedByDay = new Map<number, number>()
  readonly pages = new Map<number, CancelledPage>()
  private readonly page = (page: number): CancelledPage => this.pages.get(page) ?? emptyPage

  private count(at: number, emails: number): void {
    const day = Math.floor(at / dayMillis)
    this.releasedByDay.set(day, (this.releasedByDay.get(day) ?? 0) + emails)
  }

  waiting(): ReadonlyArray<Held> {
    return this.held.filter((one) => !one.cancelled && one.releasedAt === undefined)
  }

  accept(emails: number, cap: number, now: number): void {
    const before = this.waiting().length
    const room = Math.max(0, cap - (this.releasedByDay.get(Math.floor(now / dayMillis)) ?? 0))
    const { reply } = this.sender.ask({ _tag: "Accept", emails, cap }, now)
    expect(reply?.released).toBe(before > 0 ? 0 : Math.min(emails, room))
    expect(reply!.released + reply!.held.length).toBe(emails)
    this.count(now, reply!.released)
    for (const one of reply!.held) {
      expect(one.place).toBe(this.held.length)
      this.held.push({ ...one, heldUntil: one.heldUntil!, cancelled: false, releasedAt: undefined })
    }
  }

  private left(facts: ReadonlyArray<HoldsFact>, now: number): number {
    const fact = facts[0]
    if (fact?._tag !== "Released") return 0
    const gone = this.waiting().filter(({ place }) => place >= fact.from && place <= fact.through)
    expect(gone.length).toBe(fact.emails)
    // First in, first out: what goes is the front of what waits.
    expect(gone).toEqual(this.waiting().slice(0, gone.length))
    for (const one of gone) one.releasedAt = now
    this.count(now, gone.length)
    return gone.length
  }

  release(cap: number, now: number): number {
    return this.left(this.sender.ask({ _tag: "Release", cap, pages: this.page }, now).facts, now)
  }

  raiseCap(cap: number, now: number): void {
    const room = Math.max(0, cap - (this.releasedByDay.get(Math.floor(now / dayMillis)) ?? 0))
    const fits = Math.min(this.waiting().length, room)
    expect(this.left(this.sender.ask({ _tag: "RaiseCap", cap, pages: this.page }, now).facts, now)).toBe(fits)
  }

  cancel(place: number, now: number): void {
    const one = this.held[place]
    const possible = one !== undefined && !one.cancelled && one.releasedAt === undefined
    expect(this.sender.ask({ _tag: "Cancel", place, pages: this.page }, now).accepted).toBe(possible)
    if (!possible) return
    one.cancelled = true
    this.pages.set(pageOf(place), withCancelled(this.page(pageOf(place)), place))
  }

  next(cap: number): number | undefined {
    return nextRelease(this.sender.state(), cap)
  }
}

describe("[platform 9.6] held mail against a list of emails", () => {
  const Step = Schema.Struct({
    elapsed: Schema.Union([Schema.Literal(0), int(0, 20_000), int(0, hourMillis), int(0, 2 * dayMillis)]),
    toMidnight: Schema.Literals([false, false, true]),
    act: Schema.Literals(["Accept", "Accept", "Cancel", "RaiseCap", "Nothing"]),
    emails: Schema.Union([int(1, 100), int(1, 1_200)]),
    which: int(0, 10_000),
    /** The program was down: what was due comes late. */
    late: Schema.Literals([false, false, false, true])
  })

  it.prop(
    "lets no day pass its cap, nobody overtake, nothing be lost, and nothing wait longer than it was told",
    [Schema.Array(Step).check(Schema.isMinLength(12), Schema.isMaxLength(25)), Schema.Literals([1, 7, 60, 200, 2_000])],
    ([history, firstCap]) => {
      const queue = new Queue()
      let cap = firstCap
      let now = start
      let lateSince = Number.POSITIVE_INFINITY
      /** Takes the steps up to `until` at their times. */
      const drive = (until: number): void => {
        for (let at = queue.next(cap); at !== undefined && at <= until; at = queue.next(cap)) {
          const due = Math.max(at, now)
          expect(queue.release(cap, due)).toBeGreaterThan(0)
          now = due
        }
        now = until
      }
      for (const { act, elapsed, emails, late, toMidnight, which } of history) {
        const to = toMidnight ? Math.ceil((now + elapsed) / dayMillis) * dayMillis : now + elapsed
        if (late) {
          now = to
          if (queue.waiting().length > 0) lateSince = Math.min(lateSince, to)
        } else drive(to)
        if (act === "Accept") queue.accept(emails, cap, now)
        if (act === "Cancel") queue.cancel(queue.held.length === 0 ? 0 : which % (queue.held.length + 1), now)
        if (act === "RaiseCap") {
          cap += which % 50
          queue.raiseCap(cap, now)
        }
        expect(waiting(queue.sender.state())).toBe(queue.waiting().length)
      }
      const last = Math.max(now, ...queue.waiting().map(({ heldUntil }) => heldUntil))
      const end = lateSince < Number.POSITIVE_INFINITY ? last + 40 * dayMillis : last + releaseMillis
      // The caps of one email a day are not played to their end where the queue is long.
      if (queue.waiting().length / cap <= 20) {
        drive(end)
        expect(queue.waiting()).toEqual([])
        expect(queue.next(cap)).toBeUndefined()
      }
      for (const [, released] of queue.releasedByDay) expect(released).toBeLessThanOrEqual(cap)
      for (const { heldUntil, releasedAt } of queue.held) {
        if (releasedAt === undefined || lateSince < Number.POSITIVE_INFINITY) continue
        expect(releasedAt).toBeLessThanOrEqual(heldUntil + releaseMillis)
      }
    },
    { arbitrary: { runs: often(40) } }
  )

  it("[platform 9.6] spreads a day's release over 10 minutes from midnight, in 60 steps", () => {
    const queue = new Queue()
    queue.accept(400, 200, start)
    const midnight = Math.ceil(start / dayMillis) * dayMillis
    const steps: Array<number> = []
    for (let step = 0; step < 60; step++) {
      const at = midnight + step * 10_000
      expect(queue.release(200, at - 1)).toBe(0)
      steps.push(queue.release(200, at))
    }
    expect(steps.reduce((sum, emails) => sum + emails, 0)).toBe(200)
    expect(Math.max(...steps)).toBe(4)
    expect(steps).not.toContain(0)
    expect(queue.next(200)).toBeUndefined()
  })

  it("releases at once what missed its steps", () => {
    const queue = new Queue()
    queue.accept(700, 200, start)
    const midnight = Math.ceil(start / dayMillis) * dayMillis
    expect(queue.release(200, midnight + hourMillis)).toBe(200)
    expect(queue.next(200)).toBe(midnight + dayMillis)
    expect(queue.release(200, midnight + 5 * dayMillis + releaseMillis / 2)).toBe(Math.ceil(200 / 30))
  })

  it("does not spend the cap on cancelled places, over the edge of a page", () => {
    const queue = new Queue()
    queue.accept(9_001, 1, start)
    for (let place = 0; place < 8_999; place++) if (place !== 4_096) queue.cancel(place, start)
    queue.raiseCap(3, start + 1)
    expect(queue.waiting()).toEqual([])
    expect(queue.held.filter((one) => one.releasedAt !== undefined).map(({ place }) => place)).toEqual([4_096, 8_999])
  })
})
