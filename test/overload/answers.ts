/** Reads the answers of one HTTP/1.1 connection: bytes in, complete answers out. Bodies are counted and not kept. */

export interface Answer {
  readonly status: number
  /** The value of Retry-After; undefined where there is none. */
  readonly retryAfter: string | undefined
}

const headEnd = Buffer.from("\r\n\r\n")

export class AnswerReader {
  private rest: Buffer = Buffer.alloc(0)
  /** Bytes of a body that have not come yet. */
  private bodyLeft = 0

  /** The answers that are complete with these bytes. Throws on an answer without a Content-Length. */
  take(bytes: Buffer): ReadonlyArray<Answer> {
    const found: Array<Answer> = []
    this.rest = this.rest.length === 0 ? bytes : Buffer.concat([this.rest, bytes])
    for (;;) {
      const skipped = Math.min(this.bodyLeft, this.rest.length)
      this.bodyLeft -= skipped
      this.rest = this.rest.subarray(skipped)
      if (this.bodyLeft > 0) return found
      const end = this.rest.indexOf(headEnd)
      if (end === -1) return found
      const head = this.rest.toString("latin1", 0, end)
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
      if (length === undefined) throw new Error(`an answer without Content-Length: ${head}`)
      // A body that follows is skipped with the next bytes; the answer counts as soon as its head is here.
      found.push({ status: Number(head.slice(9, 12)), retryAfter: /\r\nretry-after: *(\S+)/i.exec(head)?.[1] })
      this.bodyLeft = Number(length)
      this.rest = this.rest.subarray(end + headEnd.length)
    }
  }
}
