import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { getCACertificates, setDefaultCACertificates } from "node:tls"
import { fileURLToPath } from "node:url"
import { expect, it } from "@effect/vitest"
import { connect } from "@nats-io/transport-node"
import { Effect, Exit, Fiber, Redacted, Schedule, Scope, Stream } from "effect"
import { inject } from "vitest"
import { freePort } from "../../src/embedded/freePort.ts"
import { connectNats, type NatsConnectionOptions } from "../../src/nats/connection.ts"
import { pretend, startServer, temporaryFolder } from "./support.ts"

const certificates = fileURLToPath(new URL("certificates", import.meta.url))

const connectTo = (url: string, options: Partial<NatsConnectionOptions> = {}) =>
  connectNats({ url: Redacted.make(url), ...options })

/** The boot's failure, whose message is one sentence without the password. */
const failureOf = (url: string, options: Partial<NatsConnectionOptions> = {}) =>
  Effect.scoped(connectTo(url, options)).pipe(
    Effect.flip,
    Effect.tap((error) =>
      Effect.sync(() => {
        expect(error.message).toMatch(/^[^\n]+\.$/)
        expect(`${error.message}${error.stack}${JSON.stringify(error)}`).not.toContain("hunter2")
      })
    )
  )

/** The account that nats.conf describes, with the part of JetStream under test. */
const withAccount = (jetstream: string, more = "") => `
  jetstream { store_dir: "./store", ${jetstream} }
  ${more}
  accounts {
    SYS { exports: [{ service: "$SYS.REQ.SERVER.PING.JSZ", response_type: "stream", accounts: ["SLUICE"] }] }
    SLUICE {
      jetstream: enabled
      imports: [{ service: { account: "SYS", subject: "$SYS.REQ.SERVER.PING.JSZ" } }]
      users: [{ user: "sluice", password: "hunter2" }]
    }
  }
  system_account: SYS`

const greeting = (info: object) =>
  `INFO ${JSON.stringify({
    server_id: "X",
    server_name: "pretender",
    version: "2.14.0",
    proto: 1,
    host: "127.0.0.1",
    port: 4222,
    headers: true,
    jetstream: true,
    max_payload: 1_048_576,
    ...info
  })}\r\nPONG\r\n`

it.live("connects to the server that the platform starts and sees that it syncs always", () =>
  Effect.gen(function* () {
    const { server, status, client } = yield* connectTo(inject("natsUrl"))
    expect(server).toMatchObject({ sync: "always", maxPayloadBytes: 1_048_576 })
    expect(yield* status).toMatchObject({ _tag: "Connected", server: `127.0.0.1:${new URL(inject("natsUrl")).port}` })
    yield* Effect.promise(() => client.flush())
  })
)

it.live("closes the connection with its scope, after what was published has gone out", () =>
  Effect.gen(function* () {
    const listener = yield* connectTo(inject("natsUrl"))
    const subject = `sluice.test.${process.pid}.closing`
    const subscription = listener.client.subscribe(subject, { max: 1 })
    yield* Effect.promise(() => listener.client.flush())
    const scope = yield* Scope.make()
    const { client } = yield* Scope.provide(connectTo(inject("natsUrl")), scope)
    client.publish(subject, "last words")
    yield* Scope.close(scope, Exit.void)
    expect(client.isClosed()).toBe(true)
    const received = yield* Effect.promise(async () => {
      for await (const message of subscription) return message.string()
      return undefined
    })
    expect(received).toBe("last words")
  })
)

it.live("shows that the server is away and back, and says so to those who have to send again", () =>
  Effect.gen(function* () {
    const port = yield* freePort
    const folder = yield* temporaryFolder
    const configuration = `jetstream { store_dir: "./store", sync_interval: always }`
    const first = yield* Scope.make()
    yield* Scope.provide(startServer(configuration, { port, folder }), first)
    const connection = yield* connectTo(`nats://127.0.0.1:${port}`)
    const states = yield* Effect.forkScoped(
      connection.statusChanges.pipe(
        Stream.map((status) => status._tag),
        Stream.take(3),
        Stream.runCollect
      )
    )
    const reconnected = yield* Effect.forkScoped(Stream.runHead(connection.reconnects))
    yield* Scope.close(first, Exit.void)
    yield* connection.statusChanges.pipe(
      Stream.filter((status) => status._tag === "Disconnected"),
      Stream.runHead
    )
    yield* startServer(configuration, { port, folder })
    expect(yield* Fiber.join(states)).toEqual(["Connected", "Disconnected", "Connected"])
    expect(yield* Fiber.join(reconnected)).toMatchObject({ value: { server: `127.0.0.1:${port}` } })
    expect((yield* connection.status)._tag).toBe("Connected")
    yield* Effect.promise(() => connection.client.flush())
  })
)

it.live("waits at boot for a server that comes a little later", () =>
  Effect.gen(function* () {
    const port = yield* freePort
    const connecting = yield* Effect.forkScoped(connectTo(`nats://127.0.0.1:${port}`, { connectTimeoutMillis: 60_000 }))
    yield* startServer(`jetstream { store_dir: "./store", sync_interval: always }`, { port })
    expect((yield* Fiber.join(connecting)).server.sync).toBe("unknown")
  })
)

it.live("gives up in one sentence where no server is, or one that says nothing", () =>
  Effect.gen(function* () {
    const port = yield* freePort
    const error = yield* failureOf(`nats://sluice:hunter2@127.0.0.1:${port}`, { connectTimeoutMillis: 300 })
    expect(error._tag).toBe("NatsUnreachable")
    expect(error.message).toBe(`NATS at 127.0.0.1:${port} cannot be reached: connection refused.`)
    const unknown = yield* failureOf("nats://nats.invalid", { connectTimeoutMillis: 300 })
    expect(unknown.message).toBe("NATS at nats.invalid:4222 cannot be reached: its name is not known.")
    const mute = yield* pretend("")
    const silent = yield* failureOf(`nats://127.0.0.1:${mute.port}`, { connectTimeoutMillis: 300 })
    expect(silent.message).toBe(`NATS at 127.0.0.1:${mute.port} cannot be reached: it does not answer.`)
    const other = yield* pretend("HTTP/1.1 400 Bad Request\r\n\r\n")
    const strange = yield* failureOf(`nats://127.0.0.1:${other.port}`, { connectTimeoutMillis: 300 })
    expect(strange._tag).toBe("NatsUnreachable")
  })
)

it.live("can be interrupted while it waits", () =>
  Effect.gen(function* () {
    const mute = yield* pretend("")
    const connecting = yield* Effect.forkScoped(connectTo(`nats://127.0.0.1:${mute.port}`))
    const outcome = yield* Fiber.interrupt(connecting).pipe(Effect.andThen(Fiber.await(connecting)))
    expect(Exit.isFailure(outcome)).toBe(true)
  })
)

it.live("says that the credentials are refused, at once", () =>
  Effect.gen(function* () {
    const port = yield* startServer(withAccount("sync_interval: always"))
    for (const credentials of ["sluice:wrong@", "somebody@", ""]) {
      const error = yield* failureOf(`nats://${credentials}127.0.0.1:${port}`, { connectTimeoutMillis: 600_000 })
      expect(error._tag).toBe("NatsAuthenticationFailed")
      expect(error.message).toBe(`NATS at 127.0.0.1:${port} refuses the user, password or token in NATS_URL.`)
    }
    const token = yield* startServer(
      `jetstream { store_dir: "./store", sync_interval: always }, authorization { token: "hunter2" }`
    )
    expect((yield* connectTo(`nats://hunter2@127.0.0.1:${token}`)).server.name).not.toBe("")
  })
)

it.live("refuses a server that is too old, or one that takes no frame", () =>
  Effect.gen(function* () {
    const old = yield* pretend(greeting({ version: "2.9.10" }))
    const tooOld = yield* failureOf(`nats://127.0.0.1:${old.port}`)
    expect(tooOld._tag).toBe("NatsTooOld")
    expect(tooOld.message).toBe("The NATS server pretender is version 2.9.10, and at least 2.12.3 is needed.")

    const port = yield* startServer(`max_payload: 512KB, jetstream { store_dir: "./store", sync_interval: always }`)
    const small = yield* failureOf(`nats://127.0.0.1:${port}`)
    expect(small._tag).toBe("NatsPayloadTooSmall")
    expect(small.message).toContain("allows messages of 524288 bytes, and 589824 are needed")
  })
)

it.live("refuses a server without JetStream, or an account that may not use it", () =>
  Effect.gen(function* () {
    const without = yield* startServer("debug: false")
    const off = yield* failureOf(`nats://127.0.0.1:${without}`)
    expect(off.message).toBe(
      `NATS at 127.0.0.1:${without} offers no JetStream: the server runs without a jetstream block.`
    )

    const account = yield* startServer(`
      jetstream { store_dir: "./store", sync_interval: always }
      accounts {
        PLAIN { users: [{ user: "plain", password: "hunter2" }] }
        OTHER {
          jetstream: enabled
          users: [{
            user: "narrow", password: "hunter2"
            permissions: { publish: { deny: ["$JS.>"] } }
          }]
        }
      }`)
    const notEnabled = yield* failureOf(`nats://plain:hunter2@127.0.0.1:${account}`)
    expect(notEnabled.message).toContain("offers no JetStream: it is not enabled for this user's account.")
    const denied = yield* failureOf(`nats://narrow:hunter2@127.0.0.1:${account}`)
    expect(denied.message).toContain("this user may not publish to $JS.API.>")
    for (const error of [off, notEnabled, denied]) expect(error._tag).toBe("NatsWithoutJetStream")
  })
)

it.live("refuses a server that visibly acknowledges before it syncs, unless that is accepted", () =>
  Effect.gen(function* () {
    const port = yield* startServer(withAccount(`sync_interval: "2m"`))
    const url = `nats://sluice:hunter2@127.0.0.1:${port}`
    const error = yield* failureOf(url)
    expect(error._tag).toBe("NatsWeakSync")
    expect(error.message).toContain(`acknowledges before it has written to disk (sync_interval 120 s)`)
    expect(error.message).toContain(`set "sync_interval: always"`)
    expect((yield* connectTo(url, { weakSync: "accept" })).server.sync).toBe("interval")
  })
)

it.live("goes on with a server that does not let it see", () =>
  Effect.gen(function* () {
    const port = yield* startServer(`jetstream { store_dir: "./store" }`)
    expect((yield* connectTo(`nats://127.0.0.1:${port}`)).server.sync).toBe("unknown")
  })
)

it.live("looks at every server of a cluster", () =>
  Effect.gen(function* () {
    const routes = yield* Effect.all([freePort, freePort, freePort])
    const urls = routes.map((port) => `"nats://127.0.0.1:${port}"`).join(", ")
    const cluster = (index: number, sync: string) =>
      startServer(
        withAccount(
          sync,
          `server_name: n${index}, cluster { name: c, listen: "127.0.0.1:${routes[index]}", routes: [${urls}] }`
        )
      )
    const good = `sync_interval: always`
    const ports = yield* Effect.all([cluster(0, good), cluster(1, good), cluster(2, `sync_interval: "1m"`)], {
      concurrency: 3
    })
    // A server that has not joined yet cannot be asked.
    const joined = Effect.promise(async () => {
      const client = await connect({ servers: `127.0.0.1:${ports[0]}`, user: "sluice", pass: "hunter2" })
      const urls = client.info?.connect_urls ?? []
      await client.close()
      return urls.length
    })
    yield* joined.pipe(Effect.repeat({ until: (count) => count === 3, schedule: Schedule.spaced(20) }))
    const error = yield* failureOf(`nats://sluice:hunter2@127.0.0.1:${ports[0]}`)
    expect(error).toMatchObject({ _tag: "NatsWeakSync", server: "n2", intervalSeconds: 60 })
  })
)

it.live("demands TLS where the address does, before it says its password", () =>
  Effect.gen(function* () {
    const plain = yield* pretend(greeting({}))
    const error = yield* failureOf(`tls://sluice:hunter2@127.0.0.1:${plain.port}`)
    expect(error.message).toContain("cannot be reached: it offers no TLS, which tls:// demands.")
    expect(plain.received()).toBe("")
  })
)

it.live("uses TLS with a certificate that is trusted, and refuses one that is not", () =>
  Effect.gen(function* () {
    const tls = `tls { cert_file: "${join(certificates, "server.pem")}", key_file: "${join(certificates, "server-key.pem")}" }`
    const port = yield* startServer(withAccount("sync_interval: always", tls))
    const url = `tls://sluice:hunter2@127.0.0.1:${port}`
    const error = yield* failureOf(url, { connectTimeoutMillis: 600_000 })
    expect(error._tag).toBe("NatsUnreachable")
    expect(error.message).toContain("cannot be reached: its certificate is not trusted")

    const authority = yield* Effect.promise(() => readFile(join(certificates, "authority.pem"), "utf8"))
    const before = getCACertificates()
    yield* Effect.acquireRelease(
      Effect.sync(() => setDefaultCACertificates([...before, authority])),
      () => Effect.sync(() => setDefaultCACertificates(before))
    )
    expect((yield* connectTo(url)).server.sync).toBe("always")
  })
)
