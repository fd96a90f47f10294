/** The meaning of a nats-server's answers to a publish. Only a limit says that the log is full. */
import { expect, it } from "@effect/vitest"
import type { PublishAnswer } from "../../src/engine/ports/Journal.ts"
import { publishAnswerOf } from "../../src/nats/publishAnswer.ts"

const answered = (text: string): PublishAnswer => publishAnswerOf({ json: <A>() => JSON.parse(text) as A })

const refused = (code: number, errorCode: number, description: string) =>
  JSON.stringify({ error: { code, err_code: errorCode, description }, stream: "log-0", seq: 0 })

it.each([
  ['{"stream":"log-0","seq":7}', { _tag: "Acked", sequence: 7, duplicate: false }],
  ['{"stream":"log-0","seq":7,"duplicate":true}', { _tag: "Acked", sequence: 7, duplicate: true }],
  ['{"stream":"log-0","seq":7,"duplicate":false}', { _tag: "Acked", sequence: 7, duplicate: false }]
])("takes %s for an acknowledgement", (text, answer) => {
  expect(answered(text)).toEqual(answer)
})

it.each([
  "",
  "no JSON",
  '{"stream":"log-0"}',
  '{"stream":"log-0","seq":0}',
  '{"stream":"log-0","seq":"7"}'
])("does not take %j for an acknowledgement", (text) => {
  expect(answered(text)._tag).toBe("Refused")
})

it.each([
  [refused(400, 10071, "wrong last sequence: 41"), 41],
  [refused(400, 10071, "wrong last sequence: 0"), 0],
  [refused(400, 10071, "wrong last sequence"), undefined],
  [refused(400, 10164, "wrong last sequence"), undefined]
])("finds in %s where the log is", (text, last) => {
  expect(answered(text)).toEqual({ _tag: "WrongSequence", last })
})

it.each([
  refused(503, 10077, "maximum bytes exceeded"),
  refused(503, 10077, "maximum messages exceeded"),
  refused(503, 10077, "maximum messages per subject exceeded"),
  refused(503, 10023, "insufficient resources"),
  refused(500, 10047, "insufficient storage resources available")
])("says that the log is full after %s, and nothing was stored", (text) => {
  expect(answered(text)).toEqual({ _tag: "Full" })
})

it.each([
  refused(503, 10077, "write /data/jetstream/msgs/1.blk: no space left on device"),
  refused(503, 10077, "write /data/jetstream/msgs/1.blk: input/output error"),
  refused(503, 10077, "error opening msg block file: maximum bytes exceeded"),
  refused(503, 10077, "")
])("does not know after %s: the disk has failed, and the frame may be on it", (text) => {
  expect(answered(text)._tag).toBe("Refused")
})

it.each([
  [refused(400, 10054, "message size exceeds maximum allowed"), { _tag: "TooLarge", maximumBytes: undefined }],
  [refused(503, 10008, "JetStream system temporarily unavailable"), { _tag: "NoLeader" }],
  [refused(503, 10009, "cluster not leader"), { _tag: "NoLeader" }],
  [refused(400, 10003, "bad request"), { _tag: "Refused", message: "bad request (400, 10003)" }],
  ['{"error":{"code":500}}', { _tag: "Refused", message: " (500, 0)" }]
])("tells %s apart", (text, answer) => {
  expect(answered(text)).toEqual(answer)
})
