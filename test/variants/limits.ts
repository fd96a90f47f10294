/** Variants of limits: the token bucket, and several limits as one decision. */
import type { Variant } from "./runner/variant.ts"

export const limits: ReadonlyArray<Variant> = [
  {
    name: "limits: a bucket forgets parts of a token",
    find: "return elapsed >= dividedUp(missing, perMilli) ? 0 : missing - elapsed * perMilli",
    replace:
      "return elapsed >= dividedUp(missing, perMilli) ? 0 : dividedUp(missing - elapsed * perMilli, parts) * parts",
    sentence: "a caller who asks often gets fewer tokens than the rate says",
    finders: ["bucket.unit"]
  },
  {
    name: "limits: a clock that is set back fills a bucket",
    find: "state.missing === 0 ? now : Math.max(now, state.atMillis)",
    replace: "now",
    sentence: "times of a bucket are wrong after a clock was set back",
    finders: ["bucket.unit"]
  },
  {
    name: "limits: a bucket holds more than its burst",
    find: "elapsed >= dividedUp(missing, perMilli) ? 0 : missing",
    replace: "elapsed >= dividedUp(missing, perMilli) ? missing - Math.min(elapsed, 1e6) * perMilli : missing",
    sentence: "a caller who was away for long may send more than a burst",
    finders: ["bucket.unit"]
  },
  {
    name: "limits: a bucket is told to come back a millisecond early",
    find: "=> Math.ceil(dividend / divisor)",
    replace: "=> Math.floor(dividend / divisor)",
    sentence: "a caller who comes when it was told to is refused once more",
    finders: ["bucket.unit"]
  },
  {
    name: "limits: a key that ends later hides those that have ended",
    find: "else if (first.end > first.placed) this.place(first)",
    replace: "",
    sentence: "a key is said to be free at a time at which it is not, and others wait for it",
    finders: ["bucket.unit", "KeyedStates.unit"]
  },
  {
    name: "limits: the limits that let a request pass count it",
    find: 'if (_tag === "Peek" || !would.allowed) return Actor.decided({ reply: would }) return Actor.decided({ others:',
    replace:
      'if (_tag === "Peek") return Actor.decided({ reply: would }); if (!would.allowed) return Actor.decided({ others: limits.filter((_, index) => would.decisions[index]!.allowed).map(({ actor, key, request }) => actor.facts(key, [{ at: now, request }])), reply: would }); return Actor.decided({ others:',
    sentence: "a request that one limit refused is counted by the others",
    finders: ["allOrNone.unit"]
  },
  {
    name: "limits: the soonest of several times is told",
    find: "refusals.reduce((latest, decision) => Math.max(latest, decision.resetsAt), now)",
    replace: "Math.min(...refusals.map((decision) => decision.resetsAt), now + 1e12)",
    sentence: "a caller comes back while another limit still refuses",
    finders: ["allOrNone.unit"]
  },
  {
    name: "limits: a request in memory is counted before all have agreed",
    find: "const would = peekAll(limits, stateOf, now) if (!would.allowed) return would const isFresh",
    replace:
      "const would = peekAll(limits, stateOf, now); if (!would.allowed) { for (const [index, limit] of limits.entries()) if (would.decisions[index]!.allowed) { const after = limit.rule.record(stateOf(limit), limit.request, now); states.set(addressOf(limit), after, limit.rule.endOf(after, limit.request)) } return would } const isFresh",
    sentence: "a refused request uses up the limits that would have let it pass",
    finders: ["allOrNone.unit"]
  },
  {
    name: "limits: a request finds room for one of its keys",
    find: "states.fullUntil(now, needy.length)",
    replace: "states.fullUntil(now, 1)",
    sentence: "the table in memory grows over its bound",
    finders: ["allOrNone.unit"]
  }
]
