/** The programs of the README and of the documents, as written, and what those print that need no server. */

/** A document's programs, by the file name in their first line. */
export const programsOf = (document: string): ReadonlyArray<readonly [file: string, text: string]> =>
  [...document.matchAll(/```ts\n\/\/ (\S+\.ts)\n([\s\S]*?)```/g)].map(([, file, text]) => [file!, text!])

/** The programs that need no server, and what they print: the lines of all but a few, which are compared as patterns. */
export const alone: Readonly<Record<string, string | RegExp>> = {
  "README/counter.ts": "5",
  "README/directory.ts": "VERIZON NEW YORK, INC.",
  "README/sentence.ts": /"it never counts below zero" does not hold .*: -\d+\nshrunk from 100 steps .* to 1 and 0/,
  "architecture/following.ts": "[ [ 19, 20, 22 ], [ 22 ], [ 'kitchen' ] ]",
  "architecture/newsletter.ts": "",
  "architecture/payments.ts": "",
  "getting-started/counter.ts": "5",
  "getting-started/reminder.ts": "[ 0, 1 ]",
  "getting-started/renamed.ts": "{ watts: 3 } { watts: 7, readings: 0 }",
  "getting-started/lane.ts": "[ true, true, false ]",
  "limits/limiter.ts": "[ true, false ]",
  "limits/limited.ts": "[ 200, 429, 200 ]",
  "limits/plain.ts": "[ true, true, false ]",
  "outbox/transfers.ts": "[ 70, 130 ]",
  "reactors/orders.ts": "800 2",
  "reactors/anew.ts": "1",
  "reactors/states.ts": "800",
  "streams/orders.ts": "{ first: 1, last: 2 }",
  "streams/signals.ts": "1",
  "send/rolling.ts": "[ true, false, 3600 ]",
  "send/distinct.ts": "[ 'c.test' ]",
  "send/monthly.ts": "[ 'allowed', 'limited' ]",
  "send/probation.ts": "50 sends hour",
  "send/pauses.ts": "[ null, null, null, 'bounces' ]",
  "send/trust.ts": "probation sending_paused probation",
  "send/tier.ts": "{ tier: 'new', dailyCap: 200 }",
  "send/holds.ts": "200 [ 0, 2 ]",
  "send/admission.ts": "[ { id: '1', state: 'queued', suppressed: [] } ]\nThe sender \"ann@two.test\" is not verified",
  "send/onEngine.ts": "200",
  "send/risk.ts": "[ 'free_address' ] higher [ 'top_level_domain', 'brand_word' ]",
  "send/content.ts": "[ 'foreign_link', 'shortened_link', 'verification_subject' ]",
  "send/feedback.ts": "5.7.1 permanent true",
  "send/returnPath.ts": "bounce+hu37vaahanlkjsru6zlmuya@bounces.one.test\n{ emailId: 'em_1', recipientIndex: 0 } null",
  "simulation/seats.ts": "",
  "simulation/prove.ts": /every seat is free or held[\s\S]*shrunk from/,
  "simulation/transfers.ts": "",
  "testing/specification.ts": "as specified",
  "testing/inMemory.ts": "passed",
  "testing/simulated.ts": "voucher: 20 scenarios, nothing found",
  "webhooks/receiver.ts": "",
  "webhooks/sender.ts": "orders.created { order: 7 }\nsucceeded",
  "webhooks/pausing.ts": "as specified",
  "examples/account.ts": "[ 200, 300, 'only 200 left' ]",
  "examples/probation.ts": "[ 3600000, 49, Infinity ]",
  "examples/seats.ts": "[ 'held', 'it is not held for you', 'held', 'sold' ]"
}
