/**
 * A cap that is hammered through all nodes at once while a fault happens: an account may send so many emails in an hour and not one more, whichever
 * nodes take them and however often a request is repeated. Every email has an idempotency key and is asked until it is decided.
 */
import { setTimeout as pause } from "node:timers/promises"
import { makeAccount } from "../sending/accounts.ts"
import { adminKey, type Node } from "./deployment.ts"

/** What an account may send, and what is asked of it. */
const cap = 30
const emails = 48

/** How many ask at once. */
const senders = 6

/** How long an ask may take before it goes to another node. */
const patienceMillis = 12_000

/** Longer than any fault. */
const decidedWithinMillis = 120_000

export interface Hammered {
  /** What is wrong, as a sentence; undefined where exactly the cap was granted. */
  readonly wrong: string | undefined
}

/** Sends one email until it is decided. Whether it was taken. */
const send = async (
  nodes: ReadonlyArray<Node>,
  { from, key }: { readonly from: string; readonly key: string },
  number: number
): Promise<boolean> => {
  const end = Date.now() + decidedWithinMillis
  for (let at = number; ; at++) {
    if (Date.now() > end) throw new Error(`email ${number} is not decided after ${decidedWithinMillis} ms`)
    const answer = await fetch(`${nodes[at % nodes.length]!.url}/v1/send/emails`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "idempotency-key": `email ${number}`
      },
      body: JSON.stringify({ from, to: `bob-${number}@two.example`, subject: `Email ${number}`, text: "Hello" }),
      signal: AbortSignal.timeout(patienceMillis)
    }).catch(() => undefined)
    const text = await answer?.text().catch(() => undefined)
    if (answer?.status === 202 && text !== undefined) return true
    if (answer?.status === 429 && text?.includes("probation_limit_reached") === true) return false
    if (answer !== undefined && text !== undefined && answer.status !== 503 && answer.status !== 409)
      throw new Error(`email ${number} is answered ${answer.status} ${text}`)
    await pause(100)
  }
}

/** Begins to hammer an account of its own; `done` when every email is decided. */
export const hammer = async (
  nodes: ReadonlyArray<Node>,
  round: number
): Promise<{ readonly done: Promise<Hammered> }> => {
  const account = await makeAccount(nodes[round % nodes.length]!, adminKey, {
    name: `capped${round}`,
    emailsPerHour: cap,
    dailyCap: 50_000
  })
  let next = 0
  let taken = 0
  const work = async () => {
    while (next < emails) {
      const number = next++
      if (await send(nodes, account, number)) taken++
      await pause(50)
    }
  }
  const done = Promise.all(Array.from({ length: senders }, work)).then(
    (): Hammered => ({
      wrong: taken === cap ? undefined : `${taken} of ${emails} emails were taken, the cap is ${cap}`
    }),
    (error: unknown): Hammered => ({ wrong: String(error) })
  )
  return { done }
}
