/** Connects to real servers with NKeys, credentials and certificates in files, and renews them under the connection. */
import { copyFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "@effect/vitest"
import { nkeys } from "@nats-io/nats-core"
import { Effect, Exit, Fiber, Redacted, Scope, Stream } from "effect"
import type { NatsFiles } from "../../src/nats/access.ts"
import { connectNats } from "../../src/nats/connection.ts"
import { startServer, temporaryFolder } from "./support.ts"

const certificate = (name: string) => fileURLToPath(new URL(`certificates/${name}`, import.meta.url))

const connectTo = (
  port: number,
  files: NatsFiles,
  { connectTimeoutMillis = 600_000, scheme = "nats" }: { connectTimeoutMillis?: number; scheme?: string } = {}
) => connectNats({ url: Redacted.make(`${scheme}://127.0.0.1:${port}`), files, connectTimeoutMillis })

const failureOf = (port: number, files: NatsFiles, connectTimeoutMillis?: number) =>
  Effect.flip(Effect.scoped(connectTo(port, files, connectTimeoutMillis === undefined ? {} : { connectTimeoutMillis })))

const store = `jetstream { store_dir: "./store", sync_interval: always }`

const seedOf = (pair: nkeys.KeyPair): string => Buffer.from(pair.getSeed()).toString()

const fileWith = (text: string) =>
  Effect.gen(function* () {
    const path = join(yield* temporaryFolder, "file")
    yield* Effect.promise(() => writeFile(path, text))
    return path
  })

it.live("proves a user by the seed of its NKey, and by a new one after the server was given that", () =>
  Effect.gen(function* () {
    const [first, second] = [nkeys.createUser(), nkeys.createUser()]
    const nkey = yield* fileWith(`${seedOf(first)}\n`)
    const users = (pair: nkeys.KeyPair) => `${store}\nauthorization { users: [{ nkey: "${pair.getPublicKey()}" }] }`
    const scope = yield* Scope.make()
    const port = yield* Scope.provide(startServer(users(first)), scope)
    const connection = yield* connectTo(port, { nkey })
    const reconnected = yield* Effect.forkScoped(Stream.runHead(connection.reconnects))
    yield* Effect.promise(() => writeFile(nkey, seedOf(second)))
    yield* Scope.close(scope, Exit.void)
    yield* startServer(users(second), { port })
    expect(yield* Fiber.join(reconnected)).toMatchObject({ value: { server: `127.0.0.1:${port}` } })

    const stranger = yield* fileWith(seedOf(nkeys.createUser()))
    const error = yield* failureOf(port, { nkey: stranger })
    expect(error._tag).toBe("NatsAuthenticationFailed")
    expect(error.message).toContain("NATS_NKEY")
  })
)

/** A JWT as a NATS server reads it, signed by that key. */
const jwt = (signer: nkeys.KeyPair, subject: nkeys.KeyPair, nats: object): string => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
  const claims = { jti: subject.getPublicKey(), iat: 1_577_836_800, iss: signer.getPublicKey(), name: "test" }
  const signed = `${part({ typ: "JWT", alg: "ed25519-nkey" })}.${part({ ...claims, sub: subject.getPublicKey(), nats })}`
  return `${signed}.${Buffer.from(signer.sign(Buffer.from(signed))).toString("base64url")}`
}

const unlimited = (...names: ReadonlyArray<string>) => Object.fromEntries(names.map((name) => [name, -1]))

it.live("proves a user by credentials of an account that an operator signed", () =>
  Effect.gen(function* () {
    const [operator, user] = [nkeys.createOperator(), nkeys.createUser()]
    const [account, system] = [nkeys.createAccount(), nkeys.createAccount()]
    const systemLimits = {
      ...unlimited("subs", "data", "payload", "imports", "exports", "conn", "leaf"),
      wildcards: true
    }
    const limits = { ...systemLimits, ...unlimited("mem_storage", "disk_storage", "streams", "consumer") }
    const port = yield* startServer(`${store}
      system_account: ${system.getPublicKey()}
      operator: "${jwt(operator, operator, { type: "operator", version: 2 })}"
      resolver: MEMORY
      resolver_preload {
        ${account.getPublicKey()}: "${jwt(operator, account, { type: "account", version: 2, limits })}"
        ${system.getPublicKey()}: "${jwt(operator, system, { type: "account", version: 2, limits: systemLimits })}"
      }`)
    const proof = jwt(account, user, { type: "user", version: 2, ...unlimited("subs", "data", "payload") })
    const credentials = yield* fileWith(
      `-----BEGIN NATS USER JWT-----\n${proof}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${seedOf(user)}\n------END USER NKEY SEED------\n`
    )
    expect((yield* (yield* connectTo(port, { credentials })).status)._tag).toBe("Connected")
    expect((yield* failureOf(port, {}))._tag).toBe("NatsAuthenticationFailed")
  })
)

it.live("trusts the authority that it is given, and shows its certificate to a server that asks", () =>
  Effect.gen(function* () {
    const port = yield* startServer(`${store}
      tls {
        cert_file: "${certificate("server.pem")}", key_file: "${certificate("server-key.pem")}"
        ca_file: "${certificate("client-authority.pem")}", verify: true
      }`)
    const authority = certificate("authority.pem")
    const own = { certificate: certificate("client.pem"), certificateKey: certificate("client-key.pem") }
    expect((yield* (yield* connectTo(port, { authority, ...own })).status)._tag).toBe("Connected")
    expect((yield* (yield* connectTo(port, { authority, ...own }, { scheme: "tls" })).status)._tag).toBe("Connected")
    expect((yield* failureOf(port, own)).message).toContain("its certificate is not trusted")
    expect((yield* failureOf(port, { authority }, 1_000)).message).toContain(
      "it does not answer, or wants a certificate that it trusts (NATS_CERT and NATS_KEY)"
    )
  })
)

it.live("a start says which file it cannot use, and quotes nothing of it", () =>
  Effect.gen(function* () {
    const nowhere = join(yield* temporaryFolder, "nowhere")
    const secret = yield* fileWith("s3cr3t")
    const pem = join(yield* temporaryFolder, "pem")
    yield* Effect.promise(() => copyFile(certificate("client.pem"), pem))
    const cases: ReadonlyArray<readonly [NatsFiles, string]> = [
      [{ nkey: nowhere }, `The file of NATS_NKEY, ${nowhere}, cannot be read (ENOENT).`],
      [{ nkey: secret }, `The file of NATS_NKEY, ${secret}, holds no seed of an NKey.`],
      [{ credentials: secret }, `The file of NATS_CREDS, ${secret}, holds no credentials of a NATS user.`],
      [{ authority: secret }, `The file of NATS_CA, ${secret}, holds nothing in PEM.`],
      [{ certificate: pem }, `The file of NATS_CERT, ${pem}, needs NATS_KEY as well.`]
    ]
    for (const [files, message] of cases) expect((yield* failureOf(1, files)).message).toBe(message)
  })
)
