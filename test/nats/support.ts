/** Helpers of the NATS adapter's tests: real servers with their own configuration, and one that only pretends. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { type AddressInfo, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { startChild } from "../../src/embedded/childProcess.ts"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { findNatsServer } from "../../src/embedded/natsBinary.ts"

export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "sluice-nats-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

/** The program that the platform itself would start. */
export const natsProgram: Effect.Effect<string, never, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* openDataFolder(join(yield* temporaryFolder, "data"))
  const { program } = yield* findNatsServer({
    folder,
    override: process.env.SLUICE_NATS_SERVER,
    environment: process.env,
    progress: () => Effect.void
  })
  return program
}).pipe(Effect.orDie)

/** Starts a server with that configuration, on a port of its own unless one is given; returns the port. */
export const startServer = Effect.fnUntraced(function* (
  configuration: string,
  options: {
    readonly port?: number
    readonly folder?: string
    readonly environment?: Readonly<Record<string, string>>
  } = {}
): Effect.fn.Return<number, never, Scope.Scope> {
  const folder = options.folder ?? (yield* temporaryFolder)
  const program = yield* natsProgram
  const file = join(folder, "test.conf")
  const ports = join(folder, "ports")
  yield* Effect.promise(async () => {
    await writeFile(file, configuration)
    await mkdir(ports, { recursive: true })
  })
  const child = yield* startChild({
    program,
    args: ["-c", file, "-a", "127.0.0.1", "-p", `${options.port ?? -1}`, "--ports_file_dir", ports],
    folder,
    environment: { PATH: process.env.PATH, ...options.environment },
    user: undefined,
    logFile: join(folder, "log"),
    stopSignals: [{ signal: "SIGTERM", waitMillis: 5_000 }]
  }).pipe(
    Effect.mapError((reason) => new Error(reason)),
    Effect.orDie
  )
  const portsFile = Effect.promise(async () => {
    const name = (await readdir(ports)).find((found) => found.endsWith(`_${child.pid}.ports`))
    const text = name === undefined ? "" : await readFile(join(ports, name), "utf8")
    return /(\d+)"/.exec(text)?.[1]
  })
  const died = Effect.flatMap(child.ended, () =>
    Effect.flatMap(
      Effect.promise(() => readFile(join(folder, "log"), "utf8")),
      (log) => Effect.die(new Error(log))
    )
  )
  const port = yield* portsFile.pipe(
    Effect.tap(() => Effect.sleep(10)),
    Effect.repeat({ until: (found) => found !== undefined }),
    Effect.raceFirst(died)
  )
  return Number(port)
})

/** What `nats-server -t` says of a configuration; empty if it is valid. */
export const faultsOf = (configuration: string, folder: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function* () {
    const program = yield* natsProgram
    const file = join(folder, "checked.conf")
    const log = join(folder, "checked.log")
    yield* Effect.promise(() => writeFile(file, configuration))
    const how = yield* Effect.scoped(
      Effect.flatMap(
        startChild({
          program,
          args: ["-c", file, "-t"],
          folder,
          environment: {},
          user: undefined,
          logFile: log,
          stopSignals: []
        }).pipe(Effect.orDie),
        (child) => child.ended
      )
    )
    return how === "exit code 0" ? "" : `${how}: ${yield* Effect.promise(() => readFile(log, "utf8"))}`
  })

export interface Pretender {
  readonly port: number
  /** Everything that clients sent. */
  readonly received: () => string
}

/** Listens, sends every client that text, and never answers. */
export const pretend = (greeting: string): Effect.Effect<Pretender, never, Scope.Scope> =>
  Effect.gen(function* () {
    let received = ""
    const sockets = new Set<Socket>()
    const server = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const server = createServer((socket) => {
          sockets.add(socket)
          socket.on("error", () => {}).on("data", (data) => (received += data.toString()))
          socket.write(greeting)
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          for (const socket of sockets) socket.destroy()
        })
    )
    return { port: (server.address() as AddressInfo).port, received: () => received }
  })
