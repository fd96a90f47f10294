/** Frames that hold messages to other organizations: whoever has no use for them passes over them. */
import { describe, expect, it } from "@effect/vitest"
import { Registry } from "../../src/engine/core/actors/Organization.ts"
import { decodeFrame, encodeMessage, FrameBuilder, headAfter } from "../../src/engine/frame.ts"
import { recordsOf } from "../../src/engine/records.ts"
import { Counter } from "./support/actors.ts"
import { servingCore } from "./support/core.ts"

/** A fact between two messages. */
const withMessages = () => {
  const builder = new FrameBuilder()
  const message = { organization: "org_2", kind: "counter", key: "", version: 1, command: { _tag: "Add", amount: 1 } }
  const counter = builder.addActor("counter", 1, "org", "")
  const other = builder.addActor("counter", 1, "org", "that only sends")
  const send = (actor: number, text: string) => builder.addMessage(actor, text, Buffer.byteLength(text))
  const fact = JSON.stringify({ _tag: "Added", amount: 5 })
  send(counter, encodeMessage(message))
  builder.addFact(counter, fact, fact.length)
  send(other, encodeMessage(message))
  return builder
}

describe("a frame with messages", () => {
  it("given a start, then its facts are folded and its messages are not", () => {
    const core = servingCore()
    const { epoch, hash, now, number, sequence } = core.core.head
    const header = { epoch, number: number + 1, now, previousHash: hash, signalSequence: 0 }
    const bytes = withMessages().encode(header)
    core.log.push({ sequence: sequence + 1, identity: "0/1/2", bytes })
    core.recover()
    expect(core.core.head).toEqual(headAfter(sequence + 1, bytes, header))
    expect([...core.core.probe.actors()].map(({ key, kind, state }) => [kind, key, state])).toEqual([
      ["counter", "", { total: 5, notes: [] }]
    ])
  })

  it("given a reactor, then it sees the fact at its place, and no message", () => {
    const frame = decodeFrame(
      withMessages().encode({ epoch: 1, number: 1, now: 7, previousHash: "0".repeat(64), signalSequence: 0 })
    )
    expect(recordsOf(new Registry([Counter], []), 0, 9, frame)).toMatchObject([{ _tag: "Fact", sequence: 9, index: 1 }])
  })
})
