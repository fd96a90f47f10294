/** Runs a server for mail in a scope: it listens, and ends with the scope (docs/handoff.md, 6.1 and 7). */
import { Effect, type Scope } from "effect"
import type { SMTPServer } from "smtp-server"

/** A refusal, in the form in which the server sends it. */
export const reply = (responseCode: number, text: string): Error => Object.assign(new Error(text), { responseCode })

/**
 * Listens until the scope ends, and runs `end` then; answers the port. `unavailable` makes the error for the code of
 * the system that does not let it listen.
 */
export const listenUntilEnd = <E>(
  server: SMTPServer,
  { host, port }: { readonly host: string; readonly port: number },
  unavailable: (code: string) => E,
  end: Effect.Effect<void>
): Effect.Effect<number, E, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<number, E>((resume) => {
      const failed = (error: NodeJS.ErrnoException) => resume(Effect.fail(unavailable(error.code ?? error.message)))
      server.once("error", failed)
      server.listen(port, host, () => {
        server.off("error", failed)
        // Broken connections are the other side's.
        server.on("error", () => undefined)
        const address = server.server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
      })
    }),
    () => end
  )
