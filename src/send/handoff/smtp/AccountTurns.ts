/**
 * Turns between accounts at connections (docs/handoff.md, 2.1): a connection that is free goes to the account that has fewest, and of those to the one that has waited longest for a turn. So
 * nobody's mails, however many or slow, hold up another account's by more than a turn. So many connections at most are for one domain. Pure: it knows no queue, no mailer and no time.
 */

/** The account that wants a connection, and the domain. */
export interface Wish {
  readonly account: string
  readonly domain: string
}

export interface AccountTurnsOptions {
  readonly connections: number
  /** Connections for one domain at most. */
  readonly ofDomain: number
}

const added = (counts: Map<string, number>, key: string, change: 1 | -1): void => {
  const count = (counts.get(key) ?? 0) + change
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}

export class AccountTurns<W extends Wish> {
  private readonly options: AccountTurnsOptions
  /** By account, in the order in which accounts had their last turn; those of an account in the order in which they came. */
  private readonly waiting = new Map<string, Set<W>>()
  private readonly ofAccount = new Map<string, number>()
  private readonly ofDomain = new Map<string, number>()
  private taken = 0

  constructor(options: AccountTurnsOptions) {
    this.options = options
  }

  /** Puts a wish behind the others of its account. */
  want(wish: W): void {
    const own = this.waiting.get(wish.account)
    if (own === undefined) this.waiting.set(wish.account, new Set([wish]))
    else own.add(wish)
  }

  /** Takes a wish back that has got no connection; whether it was waiting. */
  withdraw(wish: W): boolean {
    const own = this.waiting.get(wish.account)
    const wasWaiting = own?.delete(wish) === true
    if (own?.size === 0) this.waiting.delete(wish.account)
    return wasWaiting
  }

  /** The wish that gets a connection now; undefined where none is free, or none is for whom one may be. */
  next(): W | undefined {
    if (this.taken >= this.options.connections) return undefined
    let found: W | undefined
    let least = Number.POSITIVE_INFINITY
    for (const [account, wishes] of this.waiting) {
      const count = this.ofAccount.get(account) ?? 0
      if (count >= least) continue
      const wish = this.firstThatMay(wishes)
      if (wish === undefined) continue
      found = wish
      least = count
    }
    if (found === undefined) return undefined
    this.take(found)
    return found
  }

  /** A connection is free again. */
  ended({ account, domain }: W): void {
    this.taken--
    added(this.ofAccount, account, -1)
    added(this.ofDomain, domain, -1)
  }

  private firstThatMay(wishes: Iterable<W>): W | undefined {
    for (const wish of wishes) if ((this.ofDomain.get(wish.domain) ?? 0) < this.options.ofDomain) return wish
    return undefined
  }

  private take(wish: W): void {
    this.withdraw(wish)
    // Behind the others: it has had a turn.
    const left = this.waiting.get(wish.account)
    if (left !== undefined) {
      this.waiting.delete(wish.account)
      this.waiting.set(wish.account, left)
    }
    this.taken++
    added(this.ofAccount, wish.account, 1)
    added(this.ofDomain, wish.domain, 1)
  }
}
