/** A raw client of a listener for mail: it says lines, and hears whole answers. It waits for the socket alone, by no clock. */
import { connect, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

export interface SmtpClient {
  /** Says a line, or several at once, and hears the last line of the next answer; nothing where the connection is over. */
  readonly say: (line: string) => Effect.Effect<string>
  /** Hears the next answer, all of its lines. */
  readonly hear: Effect.Effect<ReadonlyArray<string>>
  readonly socket: Socket
}

/** Connects, and hears the greeting and the answer to `EHLO`. */
export const smtpClient = (port: number): Effect.Effect<SmtpClient, never, Scope.Scope> =>
  Effect.gen(function* () {
    const socket: Socket = yield* Effect.acquireRelease(
      Effect.sync(() => connect(port, "127.0.0.1").setEncoding("latin1")),
      (one) => Effect.sync(() => one.destroy())
    )
    let heard = ""
    let isOver = false
    let look = (): void => undefined
    socket.on("data", (text: string) => {
      heard += text
      look()
    })
    socket.on("close", () => {
      isOver = true
      look()
    })
    socket.on("error", () => undefined)
    const hear = Effect.callback<ReadonlyArray<string>>((resume) => {
      look = () => {
        const answer = /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/.exec(heard)?.[0]
        if (answer === undefined && !isOver) return
        heard = heard.slice(answer?.length ?? heard.length)
        look = () => undefined
        resume(Effect.succeed(answer === undefined ? [] : answer.trimEnd().split("\r\n")))
      }
      look()
    })
    const say = (line: string) =>
      Effect.sync(() => socket.write(`${line}\r\n`)).pipe(
        Effect.andThen(hear),
        Effect.map((lines) => lines.at(-1) ?? "")
      )
    yield* hear
    yield* say("EHLO mx.two.test")
    return { say, hear, socket }
  })
