/**
 * Chooses ports for the embedded servers. Another program can take a free port between the check and the server's own
 * bind. So a server is started on a candidate port and, if its log says that the port was taken, on the next one. The
 * port of the last start comes first, so that addresses people wrote down stay valid. Needs no service.
 */
import { readFile } from "node:fs/promises"
import { createServer } from "node:net"
import { Effect } from "effect"
import type { DataFolder } from "./dataFolder.ts"
import {
  BinaryUnavailable,
  type DataFolderUnusable,
  reasonOf,
  type ServerName,
  type ServerStartFailed
} from "./errors.ts"
import { writeWhole } from "./wholeFiles.ts"

/** Candidates tried before a start gives up. */
const maximumCandidates = 8

const loopback = "127.0.0.1"

/** A port of the loopback address that nothing listens on now. */
export const freePort: Effect.Effect<number, string> = Effect.callback((resume) => {
  const server = createServer()
  server.once("error", (cause) => resume(Effect.fail(reasonOf(cause))))
  server.listen(0, loopback, () => {
    const address = server.address()
    server.close(() =>
      resume(address === null || typeof address === "string" ? Effect.fail("no port") : Effect.succeed(address.port))
    )
  })
})

/** The port of the server's last start. */
export const rememberedPort = (folder: DataFolder, name: string): Effect.Effect<number | undefined> =>
  Effect.promise(() => readFile(folder.file(`${name}.port`), "utf8").catch(() => "")).pipe(
    Effect.map((text) => (/^\d{4,5}\n$/.test(text) ? Number(text) : undefined))
  )

/** A failure is ignored: the next start then takes another port. */
export const rememberPort = (folder: DataFolder, name: string, port: number): Effect.Effect<void> =>
  Effect.promise(() => writeWhole(folder.file(`${name}.port`), `${port}\n`).catch(() => {}))

/** Starts a server on the preferred port, if there is one, else on free ones until it gets one for itself. */
export const onFreePort = <A, R>(
  server: ServerName,
  preferred: number | undefined,
  start: (port: number) => Effect.Effect<A, ServerStartFailed | BinaryUnavailable | DataFolderUnusable, R>,
  pick: Effect.Effect<number, string> = freePort
) =>
  Effect.gen(function* () {
    for (let attempt = 1; ; attempt++) {
      const port =
        attempt === 1 && preferred !== undefined
          ? preferred
          : yield* pick.pipe(
              Effect.mapError((cause) => new BinaryUnavailable({ server, reason: `no port is free (${cause})` }))
            )
      const outcome = yield* start(port).pipe(
        Effect.map((value) => ({ value, port })),
        Effect.catchTag("ServerStartFailed", (error) =>
          error.portTaken && attempt < maximumCandidates ? Effect.succeed(undefined) : Effect.fail(error)
        )
      )
      if (outcome !== undefined) return outcome
    }
  })
