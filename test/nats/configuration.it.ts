import { cp, readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "@effect/vitest"
import { connect } from "@nats-io/transport-node"
import { Effect, Redacted } from "effect"
import { natsConfiguration } from "../../src/embedded/EmbeddedNats.ts"
import { connectNats } from "../../src/nats/connection.ts"
import { faultsOf, startServer, temporaryFolder } from "./support.ts"

const certificates = fileURLToPath(new URL("certificates", import.meta.url))

const text = Effect.promise(() => readFile(natsConfiguration, "utf8"))

/** Uncomments the block under that heading as the file's own first lines tell an operator to do. */
const uncomment = (configuration: string, heading: string): string => {
  const [before, rest] = configuration.split(new RegExp(`(?<=^# --- ${heading} -+$)`, "m"))
  if (rest === undefined) throw new Error(`no heading ${heading}`)
  const end = rest.search(/^# --- /m)
  const block = end === -1 ? rest : rest.slice(0, end)
  const opened = block.replaceAll(/^#(?=\S|\s\s)/gm, "")
  if (opened === block) throw new Error(`nothing to uncomment under ${heading}`)
  return `${before}${opened}${end === -1 ? "" : rest.slice(end)}`
}

it.live("is valid as it is, and with each block and with all of them uncommented", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    yield* Effect.promise(() => cp(certificates, join(folder, "certs"), { recursive: true }))
    const base = yield* text
    const headings = [...base.matchAll(/^# --- (\w+) -+$/gm)].map((match) => match[1]!)
    expect(headings).toEqual(["Accounts", "TLS", "Cluster"])
    expect(yield* faultsOf(base, folder)).toBe("")
    for (const heading of headings) expect(yield* faultsOf(uncomment(base, heading), folder), heading).toBe("")
    expect(yield* faultsOf(headings.reduce(uncomment, base), folder)).toBe("")
    // The check itself can fail.
    expect(yield* faultsOf(`${base}\nmax_payloads: 1`, folder)).toContain("max_payloads")
  })
)

it.live("syncs always, takes a frame in one message and nothing larger", () =>
  Effect.gen(function* () {
    const port = yield* startServer(uncomment(yield* text, "Accounts"))
    const url = Redacted.make(`nats://sluice:change-me-sluice@127.0.0.1:${port}`)
    const { server, client } = yield* connectNats({ url })
    expect(server).toMatchObject({ sync: "always", maxPayloadBytes: 1024 * 1024 })
    client.publish("frame", new Uint8Array(512 * 1024))
    yield* Effect.promise(() => client.flush())
  })
)

it.live("lets a reporter publish signals and an observer look, and neither do more", () =>
  Effect.gen(function* () {
    const port = yield* startServer(uncomment(yield* text, "Accounts"))
    const as = (user: string) =>
      Effect.acquireRelease(
        Effect.promise(() =>
          connect({ servers: `127.0.0.1:${port}`, user, pass: `change-me-${user}`, reconnect: false })
        ),
        (client) => Effect.promise(() => client.close())
      )
    const url = Redacted.make(`nats://sluice:change-me-sluice@127.0.0.1:${port}`)
    const { client: platform } = yield* connectNats({ url })
    const { jetstreamManager, jetstream } = yield* Effect.promise(() => import("@nats-io/jetstream"))
    const manager = yield* Effect.promise(() => jetstreamManager(platform))
    yield* Effect.promise(() => manager.streams.add({ name: "SIGNALS", subjects: ["signal.>"] }))

    const signals = yield* as("signals")
    const stored = yield* Effect.promise(() => jetstream(signals).publish("signal.org_1.bounce", "{}"))
    expect(stored.seq).toBe(1)
    const denied = (work: Promise<unknown>) =>
      Effect.promise(() =>
        work.then(String, (error: Error) => (error.cause instanceof Error ? error.cause.name : error.name))
      )
    expect(yield* denied(signals.request("$JS.API.STREAM.DELETE.SIGNALS"))).toBe("PermissionViolationError")

    const observer = yield* as("observer")
    const look = yield* Effect.promise(() => jetstreamManager(observer, { checkAPI: false }))
    expect((yield* Effect.promise(() => look.streams.info("SIGNALS"))).state.messages).toBe(1)
    expect(yield* denied(look.streams.delete("SIGNALS"))).toBe("PermissionViolationError")
    expect(yield* denied(observer.request("signal.org_1.bounce", "{}"))).toBe("PermissionViolationError")
    expect((yield* Effect.promise(() => manager.streams.info("SIGNALS"))).state.messages).toBe(1)
  })
)
