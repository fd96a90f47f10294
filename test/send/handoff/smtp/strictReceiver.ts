/** A receiver that takes bytes apart by itself and mends nothing: it notes what a mail has on the wire that mail must not have (RFC 5321, 4.5; RFC 5322, 2.1.1). */
import { createServer } from "node:net"
import { Effect, type Scope } from "effect"

export interface StrictReceiver {
  readonly port: number
  /** Mails as they came, dots undone. */
  readonly mails: Array<Buffer>
  /** What was wrong, with the place of the mail. */
  readonly faults: Array<string>
}

const isOver = (text: string): number => (text.startsWith(".\r\n") ? 0 : text.indexOf("\r\n.\r\n"))

/** What is wrong with the text behind DATA. */
const faultsOf = (text: string, isEightBit: boolean): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const lines = text.split("\r\n")
  const longest = Math.max(...lines.map((line) => line.length))
  if (longest > 998) faults.push(`a line of ${longest} octets`)
  if (lines.some((line) => /[\r\n]/.test(line))) faults.push("a line end that is not CRLF")
  if (text.includes("\0")) faults.push("a NUL")
  // biome-ignore lint/suspicious/noControlCharactersInRegex: octets above 127 are meant.
  if (!isEightBit && /[^\x00-\x7f]/.test(text)) faults.push("octets above 127 without 8BITMIME")
  if (lines.some((line) => line.startsWith(".") && !line.startsWith(".."))) faults.push("a dot that is not stuffed")
  return faults
}

export const startStrictReceiver: Effect.Effect<StrictReceiver, never, Scope.Scope> = Effect.callback<
  StrictReceiver & { readonly close: () => void }
>((resume) => {
  const mails: Array<Buffer> = []
  const faults: Array<string> = []
  const server = createServer((socket) => {
    let text = ""
    let isData = false
    let isEightBit = false
    const say = (line: string) => socket.write(`${line}\r\n`)
    const command = (line: string): void => {
      if (/^MAIL/i.test(line)) isEightBit = /BODY=8BITMIME/i.test(line)
      isData = /^DATA/i.test(line)
      const answer = isData ? "354 go on" : /^EHLO/i.test(line) ? "250-strict.test\r\n250 8BITMIME" : "250 ok"
      say(answer)
      if (/^QUIT/i.test(line)) socket.end()
    }
    socket.on("error", () => undefined)
    say("220 strict.test")
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1")
      for (;;) {
        const end = isData ? isOver(text) : text.indexOf("\r\n")
        if (end === -1) return
        const taken = text.slice(0, end)
        text = text.slice(end + (isData ? 5 : 2))
        if (!isData) {
          command(taken)
          continue
        }
        isData = false
        for (const fault of faultsOf(taken, isEightBit)) faults.push(`${mails.length}: ${fault}`)
        mails.push(Buffer.from(`${taken.replaceAll(/^\.\./gm, ".")}\r\n`, "latin1"))
        say("250 taken")
      }
    })
  })
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    resume(Effect.succeed({ port, mails, faults, close: () => server.close() }))
  })
}).pipe((started) => Effect.acquireRelease(started, ({ close }) => Effect.sync(close)))
