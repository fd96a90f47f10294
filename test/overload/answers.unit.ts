import { describe, expect, it } from "@effect/vitest"
import { AnswerReader } from "./answers.ts"

const answer = (status: number, body: string, more = "") =>
  `HTTP/1.1 ${status} Word\r\ncontent-type: text/plain\r\n${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

describe("answers of a connection", () => {
  it("are read whatever pieces their bytes come in", () => {
    const bytes = Buffer.from(
      answer(200, "žluť\r\n\r\nHTTP/1.1 500") + answer(503, "", "Retry-After: 7\r\n") + answer(429, "x")
    )
    const expected = [
      { status: 200, retryAfter: undefined },
      { status: 503, retryAfter: "7" },
      { status: 429, retryAfter: undefined }
    ]
    for (let size = 1; size <= bytes.length; size++) {
      const reader = new AnswerReader()
      const found: Array<unknown> = []
      for (let from = 0; from < bytes.length; from += size)
        found.push(...reader.take(bytes.subarray(from, from + size)))
      expect(found, `pieces of ${size}`).toEqual(expected)
    }
  })

  it("without a length are refused", () => {
    expect(() => new AnswerReader().take(Buffer.from("HTTP/1.1 200 OK\r\n\r\n"))).toThrow("without Content-Length")
  })
})
