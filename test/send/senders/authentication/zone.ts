/** Zones in memory, and checks that ask them until they have every answer. */
import { judgeAuthentication, type MailRoute } from "../../../../src/send/senders/authentication/checkAuthentication.ts"
import {
  type DnsAnswer,
  type DnsQuestion,
  questionKey
} from "../../../../src/send/senders/authentication/dnsAnswers.ts"

/** The records of a name; `silent` where no name server answers. */
export type Name =
  | {
      readonly texts?: ReadonlyArray<string>
      readonly mailHosts?: ReadonlyArray<string>
      readonly addresses?: ReadonlyArray<string>
    }
  | "silent"

export type Zone = Readonly<Record<string, Name>>

export const answerOf = (zone: Zone, { name, type }: DnsQuestion): DnsAnswer => {
  const there = Object.hasOwn(zone, name) ? zone[name]! : {}
  if (there === "silent") return { _tag: "Unknown" }
  const value = there[type] ?? []
  return value.length === 0 ? { _tag: "None" } : { _tag: "Found", value }
}

export const domain = "a.example"

/** The verdicts about a domain, and the questions that they took. */
export const verdictsIn = (zone: Zone, route: MailRoute = {}, isSigned = true) => {
  const answers = new Map<string, DnsAnswer>()
  for (;;) {
    const judged = judgeAuthentication({ domain, isSigned }, route, (question) => answers.get(questionKey(question)))
    if (judged.needs.length === 0) {
      const { verdicts } = judged
      return { spf: verdicts[0]!, operators: verdicts.at(-2)!, dmarc: verdicts.at(-1)!, asked: answers.size }
    }
    for (const question of judged.needs) answers.set(questionKey(question), answerOf(zone, question))
  }
}
