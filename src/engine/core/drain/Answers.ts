/** Collects answers that a partition has decided and not yet given to its callers. */
import type { Caller } from "../actors/Organization.ts"

export type Reply = (caller: Caller, accepted: boolean, value: unknown) => void

export class Answers {
  private callers: Array<Caller> = []
  private accepted: Array<boolean> = []
  private values: Array<unknown> = []

  get size(): number {
    return this.callers.length
  }

  add(caller: Caller, accepted: boolean, value: unknown): void {
    this.callers.push(caller)
    this.accepted.push(accepted)
    this.values.push(value)
  }

  /** Gives the answers. Callers may ask again while this runs. */
  give(reply: Reply): void {
    const { accepted, callers, values } = this
    this.clear()
    for (let index = 0; index < callers.length; index++) reply(callers[index]!, accepted[index]!, values[index])
  }

  /** Gives every caller an error instead. */
  fail(reply: Reply, error: unknown): void {
    const { callers } = this
    this.clear()
    for (const caller of callers) reply(caller, false, error)
  }

  clear(): void {
    this.callers = []
    this.accepted = []
    this.values = []
  }
}
