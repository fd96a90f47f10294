/** The memory in which requests wait for the request log (docs/platform.md, 2.12). */
import { describe, expect, it } from "vitest"
import type { AnsweredRequest } from "../../../src/http/RequestRecorder.ts"
import { RequestBuffer } from "../../../src/platform/requests/RequestBuffer.ts"

const caller = { organizationId: "org_a", keyId: "key_a", mode: "live" } as const

const answered = (given: Partial<AnsweredRequest> = {}): AnsweredRequest => ({
  at: 1_000,
  seconds: 0.0042,
  method: "POST",
  route: "/v1/send/emails",
  url: "/v1/send/emails",
  status: 202,
  requestId: "req_1",
  address: "203.0.113.7",
  body: Buffer.from('{"subject":"Hi"}'),
  answer: undefined,
  facts: undefined,
  ...given
})

const bufferOf = (maximumBytes?: number) => {
  const dropped: Array<number> = []
  const buffer = new RequestBuffer({
    successesPerSecond: 2,
    failuresPerSecond: 3,
    random: () => 0.99,
    digest: (organization, text) => `#${organization}/${text}`,
    onDropped: () => dropped.push(1),
    ...(maximumBytes === undefined ? {} : { maximumBytes })
  })
  const note = (given: Partial<AnsweredRequest> = {}, by: typeof caller | { organizationId: string } = caller) =>
    buffer.counted({ ...caller, ...by }, given.status ?? 202)?.(answered(given))
  return { buffer, note, dropped }
}

describe("the buffer of the request log", () => {
  it("[platform 2.12] given more of one organization in a second, then it takes none of another's share", () => {
    const { buffer, note } = bufferOf()
    for (let one = 0; one < 10; one++) note()
    for (let one = 0; one < 4; one++) note({ status: 422, answer: '{"error":{"code":"invalid_request"}}' })
    note({ requestId: "req_2" }, { organizationId: "org_b" })
    expect(buffer.oldest(99)).toEqual([])
    buffer.turn()
    const kept = buffer.oldest(99)
    expect(kept.map(({ count, organizationId, status }) => [organizationId, status, count])).toEqual([
      ["org_a", 202, 5],
      ["org_a", 202, 5],
      ["org_a", 422, 2],
      ["org_a", 422, 1],
      ["org_a", 422, 1],
      ["org_b", 202, 1]
    ])
    expect(new Set(kept.map(({ id }) => id)).size).toBe(6)
    buffer.remove(5)
    expect(buffer.oldest(99).map(({ requestId }) => requestId)).toEqual(["req_2"])
  })

  it("[platform 2.12] keeps bodies of failures alone, and makes facts of the kept ones alone", () => {
    const { buffer, note } = bufferOf()
    let made = 0
    const facts = (digest: (text: string) => string) => {
      made++
      return { domain: digest("two.test") }
    }
    note({ facts })
    for (let one = 0; one < 9; one++) note({ status: 429, answer: '{"error":{"code":"over"}}', facts })
    buffer.turn()
    expect(made).toBe(4)
    const [success, failure] = buffer.oldest(2)
    expect(success).toMatchObject({ requestBody: null, answerBody: null, code: null, durationMillis: 4 })
    expect(failure).toMatchObject({
      requestBody: '{"subject":"[removed]"}',
      answerBody: '{"error":{"code":"over"}}',
      code: "over",
      facts: { domain: "#org_a/two.test" }
    })
  })

  it("[platform 2.12] given no room, then it drops the newest and says so, until records are written", () => {
    const { buffer, dropped, note } = bufferOf(2_500)
    for (const organizationId of ["org_a", "org_b", "org_c", "org_d"]) note({}, { organizationId })
    expect(dropped).toHaveLength(2)
    buffer.turn()
    expect(buffer.oldest(99)).toHaveLength(2)
    buffer.remove(2)
    note()
    buffer.turn()
    expect(buffer.oldest(99)).toHaveLength(1)
    expect(dropped).toHaveLength(2)
  })
})
