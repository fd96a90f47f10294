/**
 * Callers who look numbers up at whichever node answers. A successful look-up is a decision: its event is in the log before it is answered. Every
 * number is looked up once and never again, so each answered one must be there exactly once, and no number twice.
 */
import { setTimeout as pause } from "node:timers/promises"
import { adminOf } from "../support/ask.ts"
import { adminKey, type Node } from "./deployment.ts"

/** Between two look-ups of a caller, where a run does not say it. */
const usualRestMillis = 20

/** How long a look-up may take before its caller goes to another node. */
const patienceMillis = 15_000

/** Characters of a refusal that are told apart. */
const longestSentence = 160

export interface Organization {
  readonly id: string
  readonly key: string
}

export const makeOrganizations = async (node: Node, count: number): Promise<ReadonlyArray<Organization>> => {
  const admin = adminOf(node, adminKey)
  const made: Array<Organization> = []
  for (let number = 0; number < count; number++) {
    const { id } = await admin<Organization>("POST", "/organizations", {
      name: `Organization ${number}`,
      plan: "team"
    })
    const { key } = await admin<Organization>("POST", `/organizations/${id}/keys`, { services: ["telco"], scopes: [] })
    made.push({ id, key })
  }
  return made
}

/** What the callers of one organization have seen. */
export interface Calls {
  readonly organization: Organization
  readonly asked: Set<string>
  readonly answered: Set<string>
  /** How often each status came; 0 for no answer. */
  readonly statuses: Map<number, number>
  /** How often each sentence came with a 503, since it was last looked at. */
  readonly refusals: Map<string, number>
  /** 503 without Retry-After. */
  unhelpful: number
  answeredAt: number
  /** The longest time without an answer, since it was last looked at. */
  gapMillis: number
}

export interface Load {
  readonly calls: ReadonlyArray<Calls>
  /** The longest time that any organization had no answer since the last look, in milliseconds, and begins anew. */
  readonly takeGaps: () => ReadonlyArray<number>
  /** What requests were refused with since the last look, and how often. */
  readonly takeRefusals: () => ReadonlyMap<string, number>
  readonly stop: () => Promise<void>
}

/** Starts a caller for each organization. Numbers are of one exchange: 212-555 and the last four digits, then 212-556. */
export const startLoad = (
  nodes: ReadonlyArray<Node>,
  organizations: ReadonlyArray<Organization>,
  restMillis: number = usualRestMillis
): Load => {
  let isGoing = true
  const calls = organizations.map(
    (organization): Calls => ({
      organization,
      asked: new Set(),
      answered: new Set(),
      statuses: new Map(),
      refusals: new Map(),
      unhelpful: 0,
      answeredAt: Date.now(),
      gapMillis: 0
    })
  )
  const call = async (own: Calls, first: number) => {
    for (let number = 0, at = first; isGoing; number++) {
      const tn = `212${555 + Math.floor(number / 10_000)}${String(number % 10_000).padStart(4, "0")}`
      own.asked.add(tn)
      let status = 0
      try {
        const answer = await fetch(`${nodes[at % nodes.length]!.url}/v1/telco/lookup/${tn}`, {
          headers: { authorization: `Bearer ${own.organization.key}` },
          signal: AbortSignal.timeout(patienceMillis)
        })
        const text = await answer.text()
        ;({ status } = answer)
        if (status === 503) {
          if (answer.headers.get("retry-after") === null) own.unhelpful++
          const said = text.replaceAll(/[0-9]+/g, "n").slice(0, longestSentence)
          own.refusals.set(said, (own.refusals.get(said) ?? 0) + 1)
        }
      } catch {
        // The node is away.
      }
      own.statuses.set(status, (own.statuses.get(status) ?? 0) + 1)
      if (status === 200) {
        const now = Date.now()
        own.gapMillis = Math.max(own.gapMillis, now - own.answeredAt)
        own.answeredAt = now
        own.answered.add(tn)
      }
      // Every answer comes from another node than the one before.
      at++
      await pause(restMillis)
    }
  }
  // Several callers would hide a node that answers nothing behind another one.
  const callers = calls.map((own, index) => call(own, index))
  return {
    calls,
    takeGaps: () =>
      calls.map((own) => {
        const gap = Math.max(own.gapMillis, Date.now() - own.answeredAt)
        own.gapMillis = 0
        return gap
      }),
    takeRefusals: () => {
      const all = new Map<string, number>()
      for (const { refusals } of calls) {
        for (const [said, count] of refusals) all.set(said, (all.get(said) ?? 0) + count)
        refusals.clear()
      }
      return all
    },
    stop: async () => {
      isGoing = false
      await Promise.all(callers)
    }
  }
}
