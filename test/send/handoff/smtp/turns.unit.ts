/** Turns between accounts at connections: beside a model that searches lists, and what one account's slow mails do to another's. */
import { describe, expect, it } from "vitest"
import { AccountTurns, type Wish } from "../../../../src/send/handoff/smtp/AccountTurns.ts"
import { Prng } from "../../../../src/simulation/kernel/Prng.ts"

const options = { connections: 4, ofDomain: 2 }

interface Mail extends Wish {
  readonly name: number
}

/** Lists of all that wait and go, searched anew each time. */
class Naive {
  readonly waits: Array<Mail> = []
  readonly goes: Array<Mail> = []
  private readonly had = new Map<string, number>()
  private clock = 0
  want(mail: Mail) {
    // An account that has nothing waiting comes behind the others.
    if (!this.waits.some(({ account }) => account === mail.account)) this.had.set(mail.account, ++this.clock)
    this.waits.push(mail)
  }
  next(): Mail | undefined {
    if (this.goes.length >= options.connections) return undefined
    const count = (account: string) => this.goes.filter((one) => one.account === account).length
    const may = this.waits.filter(
      ({ domain }) => this.goes.filter((one) => one.domain === domain).length < options.ofDomain
    )
    const [found] = [...may].sort(
      (left, right) =>
        count(left.account) - count(right.account) ||
        this.had.get(left.account)! - this.had.get(right.account)! ||
        left.name - right.name
    )
    if (found === undefined) return undefined
    this.waits.splice(this.waits.indexOf(found), 1)
    this.goes.push(found)
    this.had.set(found.account, ++this.clock)
    return found
  }
}

describe("[handoff 2.1] turns at the relay's connections", () => {
  it("are those of lists that are searched, whatever comes, goes and is taken back", () => {
    const prng = new Prng(4, "turns")
    for (let life = 0; life < 200; life++) {
      const turns = new AccountTurns<Mail>(options)
      const naive = new Naive()
      for (let step = 0; step < 80; step++) {
        const drawn = prng.int(0, 9)
        if (drawn < 5) {
          const mail = { account: "abcd"[prng.int(0, 3)]!, domain: "xyz"[prng.int(0, 2)]!, name: step }
          turns.want(mail)
          naive.want(mail)
        } else if (drawn < 8 && naive.goes.length > 0) {
          const [mail] = naive.goes.splice(prng.int(0, naive.goes.length - 1), 1)
          turns.ended(mail!)
        } else if (naive.waits.length > 0) {
          const [mail] = naive.waits.splice(prng.int(0, naive.waits.length - 1), 1)
          expect(turns.withdraw(mail!)).toBe(true)
          expect(turns.withdraw(mail!)).toBe(false)
        }
        for (;;) {
          const expected = naive.next()
          expect(turns.next(), `life ${life}, step ${step}`).toBe(expected)
          if (expected === undefined) break
        }
      }
    }
  })

  it("give another account the next connection, whatever one account has waiting at slow domains", () => {
    const turns = new AccountTurns<Mail>({ connections: 10, ofDomain: 5 })
    // Each of a thousand mails to 400 domains takes 100 moments; another account's mail comes every 50 moments and takes one.
    const goes: Array<{ readonly mail: Mail; readonly endsAt: number }> = []
    const cameAt = new Map<Mail, number>()
    const waited: Array<number> = []
    for (let name = 0; name < 1_000; name++) turns.want({ account: "slow", domain: `${name % 400}`, name })
    for (let now = 0; now < 5_000; now++) {
      for (const one of goes.filter(({ endsAt }) => endsAt === now)) {
        goes.splice(goes.indexOf(one), 1)
        turns.ended(one.mail)
      }
      if (now % 50 === 0) {
        const mail = { account: "quick", domain: "quick", name: now }
        cameAt.set(mail, now)
        turns.want(mail)
      }
      for (let mail = turns.next(); mail !== undefined; mail = turns.next()) {
        const isQuick = mail.account === "quick"
        if (isQuick) waited.push(now - cameAt.get(mail)!)
        // Slow mails end one after the other, as on a relay that is in use.
        goes.push({ mail, endsAt: now + (isQuick ? 1 : 100 + (mail.name % 10) * 10) })
      }
    }
    expect(waited.length).toBeGreaterThan(95)
    // Never more than it takes until any connection is free.
    expect(Math.max(...waited)).toBeLessThanOrEqual(200)
    expect(waited.filter((moments) => moments <= 20).length).toBeGreaterThan(waited.length / 2)
  })
})
