/**
 * Faults that keep `sluice serve` from starting: one clear sentence each, a non-zero exit, no stack trace, no secret. And what
 * a first start on a named database makes of the demo organization.
 */
import { createServer, type Server, type Socket } from "node:net"
import { afterAll, it as declared, describe, expect, inject } from "vitest"
import { commandHere, startPlatformHere } from "../support/here.ts"
import { type RunningPlatform, sluice } from "../support/platform.ts"
import { usNpa } from "./files.ts"
import { ok, query, refusal, useDatabases, useFolders } from "./support.ts"

const it = declared.concurrent
const database = useDatabases()
const folder = useFolders()
const secret = "geheim-s3cr3t"

const servers: Array<Server> = []
afterAll(() => {
  for (const server of servers) server.close()
})

/** A server on a free port of loopback. */
const listen = (onConnection: (socket: Socket) => void): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer((socket) => onConnection(socket.on("error", () => {})))
    servers.push(server)
    server.listen(0, "127.0.0.1", () => resolve((server.address() as { readonly port: number }).port))
  })

/** The sentence with which a command refuses, in this process unless it is run by `sluice`. */
const refused = async (
  environment: Record<string, string>,
  args: ReadonlyArray<string> = ["serve"],
  run: typeof sluice = commandHere
) => {
  const dataDir = await folder()
  const finished = await run(args, { SLUICE_PORT: "0", SLUICE_DATA_DIR: dataDir, ...environment })
  expect(finished.stderr).not.toContain(secret)
  return refusal(finished)
}

const withParts = (url: string, parts: Partial<Record<"password" | "pathname" | "port", string>>): string =>
  Object.assign(new URL(url), parts).href

const postgres = () => inject("postgresUrl")
const placeOf = (url: string): string => new URL(url).host

describe("serve refuses", () => {
  it("a configuration with faults, and names them all", async () => {
    const environment = {
      SLUICE_PORT: "http",
      DATABASE_URL: `mysql://u:${secret}@h/d`,
      NATS_URL: `http://u:${secret}@h`,
      SLUICE_DEMO_KEY: secret,
      SLUICE_ADMIN_KEY: secret,
      SLUICE_PROT: "1"
    }
    expect(await refused(environment, ["serve", "--log-level", "loud"], sluice)).toBe(
      [
        "sluice: The configuration has 7 faults:",
        '  - SLUICE_PORT must be a whole number from 0 to 65535, not "http"',
        "  - DATABASE_URL must be an address such as postgres://user:password@host:5432/database",
        "  - NATS_URL must be an address such as nats://user:password@host:4222, several separated by commas (it does not begin with nats:// or tls://)",
        "  - SLUICE_ADMIN_KEY must be a key such as adm_… with at least 22 letters and digits after the prefix",
        "  - SLUICE_DEMO_KEY must be a key such as sk_live_… with at least 22 letters and digits after the prefix",
        '  - --log-level must be one of trace, debug, info, warn, error, none, not "loud"',
        "  - the environment variable SLUICE_PROT is unknown"
      ].join("\n")
    )
  })

  it("a variable that is no setting, before anything is made, and not once a platform has run there", async () => {
    const dataDir = await folder()
    const misspelt = { SLUICE_PARTITION: "16", SLUICE_DATA_DIR: dataDir }
    expect(await refused(misspelt)).toBe(
      "sluice: SLUICE_PARTITION (did you mean SLUICE_PARTITIONS?) is no setting. " +
        "A first start refuses it, because some settings, such as SLUICE_PARTITIONS, are fixed for ever by it."
    )
    const url = await database()
    expect(await refused({ ...misspelt, DATABASE_URL: url, NATS_URL: inject("natsUrl") })).toContain(
      "SLUICE_PARTITION "
    )
    expect(await query(url, "select 1 from pg_class where relname = 'schema_migrations'")).toEqual([])
    const served = await startPlatformHere({
      DATABASE_URL: await database("seeded"),
      NATS_URL: inject("natsUrl"),
      SLUICE_PARTITION: "16",
      SLUICE_SERVICE_HOST: "10.0.0.1"
    })
    expect(served.stderr()).toContain("SLUICE_PARTITION is unknown and ignored")
    expect(served.stderr()).not.toContain("SLUICE_SERVICE_HOST")
    await served.stop()
  })

  it.each(["SLUICE_PORT", "SLUICE_ADMIN_PORT"])("a port in use (%s), before anything is started", async (setting) => {
    const port = await listen((socket) => socket.destroy())
    expect(await refused({ [setting]: `${port}` })).toBe(
      `sluice: Cannot listen on 127.0.0.1:${port}: another program is listening there. Choose another port with ${setting}.`
    )
  })

  it("an address that is not this machine's", async () => {
    expect(await refused({ SLUICE_HOST: "192.0.2.1" })).toBe(
      "sluice: Cannot listen on 192.0.2.1:0: this machine has no such address. Choose another host with SLUICE_HOST."
    )
  })

  it("a database where nothing listens, before anything is started", async () => {
    const sentence = `sluice: PostgreSQL is not reachable at 127.0.0.1:1 (connect ECONNREFUSED 127.0.0.1:1)`
    const environment = { DATABASE_URL: `postgres://u:${secret}@127.0.0.1:1/d` }
    expect(await refused(environment)).toBe(sentence)
    expect(await refused(environment, ["orgs", "list"])).toBe(sentence)
  })

  it("a database on a host that does not exist", async () => {
    const sentence = await refused({ DATABASE_URL: `postgres://u:${secret}@database.invalid/d` })
    expect(sentence).toMatch(/^sluice: PostgreSQL is not reachable at database\.invalid:5432 \([^\n]+\)$/)
  })

  it("a wrong password of the database", async () => {
    const url = withParts(postgres(), { password: secret })
    const { username } = new URL(url)
    expect(await refused({ DATABASE_URL: url })).toBe(
      `sluice: PostgreSQL at ${placeOf(url)} refused user "${username}" for database "postgres" (password authentication failed for user "${username}")`
    )
  })

  it("a database that does not exist", async () => {
    const url = withParts(postgres(), { pathname: "/missing" })
    expect(await refused({ DATABASE_URL: url })).toBe(
      `sluice: PostgreSQL at ${placeOf(url)} has no database "missing": create it first`
    )
  })

  it("a PostgreSQL that is too old", async () => {
    const port = await listen(answerAsOldPostgres)
    expect(await refused({ DATABASE_URL: `postgres://u:${secret}@127.0.0.1:${port}/d` })).toBe(
      `sluice: PostgreSQL at 127.0.0.1:${port} is version 15.4, but 16 or newer is needed`
    )
  })

  it("a NATS where nothing listens, before anything is started", async () => {
    const dataDir = await folder()
    const finished = await commandHere(["serve"], {
      SLUICE_PORT: "0",
      SLUICE_DATA_DIR: dataDir,
      NATS_URL: `nats://u:${secret}@127.0.0.1:1`
    })
    expect(refusal(finished)).toBe("sluice: NATS at 127.0.0.1:1 cannot be reached: connection refused.")
    expect(finished.stderr).toMatch(/^ {2}Connecting to NATS at 127\.0\.0\.1:1 …$/m)
    expect(finished.stderr).not.toContain("PostgreSQL")
    expect(finished.stderr).not.toContain(secret)
  })

  it("a wrong password of NATS", async () => {
    const url = withParts(inject("natsUrl"), { password: secret })
    expect(await refused({ NATS_URL: url })).toBe(
      `sluice: NATS at ${placeOf(url)} refuses the user, password or token in NATS_URL.`
    )
  })

  it("a data folder that is somebody else's", async () => {
    expect(await refused({ SLUICE_DATA_DIR: process.cwd() })).toBe(
      `sluice: The data folder ${process.cwd()} cannot be used: it is not empty and not a data folder of Sluice.`
    )
  })

  it("embedded programs that are none", async () => {
    expect(await refused({ SLUICE_POSTGRES_BIN: "/nowhere" })).toMatch(
      /^sluice: PostgreSQL cannot be started: the programs in \/nowhere \(SLUICE_POSTGRES_BIN\) do not run: [^\n]+$/
    )
    expect(await refused({ SLUICE_NATS_SERVER: process.execPath })).toMatch(
      /^sluice: NATS cannot be started: [^\n]+ \(SLUICE_NATS_SERVER\) is no nats-server [^\n]+$/
    )
  })
})

describe("the command line", () => {
  it("explains what it was not asked rightly, on stderr", async () => {
    const { code, stderr, stdout } = await sluice([], {})
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toContain("SUBCOMMANDS")
    expect(await refused({}, ["bogus"])).toBe(
      'sluice: Unknown subcommand "bogus" for "sluice"\nUsage: sluice <subcommand> [flags]\nSee sluice --help.'
    )
    expect(await refused({}, ["orgs", "create", "Acme", "--plam", "team"])).toBe(
      "sluice: Unrecognized flag: --plam in command sluice orgs create; did you mean --plan\nUsage: sluice orgs create [flags] <name>\nSee sluice orgs create --help."
    )
  })

  it("recovers no partition that the deployment has not", async () => {
    expect(await refused({}, ["recover", "--partition", "8"])).toBe(
      "sluice: There is no partition 8: this deployment is configured with 8, numbered from 0 to 7."
    )
    expect(await refused({ SLUICE_PARTITIONS: "3" }, ["recover", "--partition=-1", "--accept-loss"])).toBe(
      "sluice: There is no partition -1: this deployment is configured with 3, numbered from 0 to 2."
    )
    expect(await refused({}, ["recover", "--partition", "1.5"])).toMatch(
      /^sluice: Invalid value for flag --partition: "1.5"\. Expected an integer/
    )
  })

  it("prints help, version and configuration as results, without secrets", async () => {
    expect(await ok(["orgs", "--help"], {})).toContain("SUBCOMMANDS")
    expect(await ok(["--version"], {})).toMatch(/^sluice \d+\.\d+\.\d+\n$/)
    expect(await ok(["version"], {})).toBe(await ok(["--version"], {}))
    expect(await ok(["help"], {})).toBe(await ok(["--help"], {}))
    expect(await ok(["help", "orgs", "create"], {})).toBe(await ok(["orgs", "create", "--help"], {}))
    expect(await ok(["help", "orgs", "create", "Acme"], {})).toBe(await ok(["orgs", "create", "--help"], {}))
    for (const [words, unknown] of [
      [["help", "nothing"], '"nothing" for "sluice"'],
      [["help", "orgs", "nothing"], '"nothing" for "sluice orgs"']
    ] as const) {
      const { code, stderr, stdout } = await commandHere(words, {})
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
      expect(stderr).toContain(`Unknown subcommand ${unknown}`)
    }
    const secrets = await ok(["serve", "--help"], {})
    for (const name of ["DATABASE_URL", "SLUICE_SMTP_URL", "SLUICE_SECRETS_KEY"]) expect(secrets).toContain(name)
    const environment = {
      DATABASE_URL: `postgres://sluice:${secret}@db:5432/sluice`,
      SLUICE_ADMIN_KEY: `adm_${"a".repeat(22)}`,
      NODE_ENV: "production"
    }
    const { stdout: table } = await commandHere(["config", "--port", "1"], environment)
    expect(table).toMatch(/^SLUICE_PORT +1 {2}\(flag\)$/m)
    expect(table).toMatch(/^DATABASE_URL +postgres:\/\/<redacted>@db:5432\/sluice {2}\(environment\)$/m)
    expect(table).toMatch(/^SLUICE_ADMIN_KEY +<redacted> {2}\(environment\)$/m)
    expect(table).toMatch(/^SLUICE_DEMO +off {2}\(default\)$/m)
    const lines = JSON.parse((await commandHere(["config", "--json"], environment)).stdout) as ReadonlyArray<{
      readonly env: string
    }>
    expect(lines).toContainEqual({ name: "port", env: "SLUICE_PORT", value: "8080", source: "default" })
    expect(JSON.stringify(lines)).not.toContain(secret)
  })
})

describe("a first start on a named database", () => {
  const started = async (
    environment: Record<string, string>,
    use: (platform: RunningPlatform, url: string) => Promise<void>
  ) => {
    const url = await database("seeded")
    const platform = await startPlatformHere({ DATABASE_URL: url, NATS_URL: inject("natsUrl"), ...environment })
    try {
      await use(platform, url)
    } finally {
      await platform.stop()
    }
  }

  const organizations = (url: string) => query(url, "select name from organizations")

  it.each([{ SLUICE_DEMO: "off" }, { NODE_ENV: "production" }])("makes no demo organization with %j", (environment) =>
    started(environment as Record<string, string>, async (platform, url) => {
      expect(platform.demoKey).toBeUndefined()
      expect(platform.stdout()).not.toContain("Key")
      expect(await organizations(url)).toEqual([])
    }))

  it("[platform 2.7, 8.2] without development mode has no demo, no mailbox and closed metrics, and tells its progress by the log", () =>
    started({ SLUICE_DEVELOPMENT: "off", SLUICE_HOST: "0.0.0.0" }, async (platform, url) => {
      expect(platform.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
      expect(platform.demoKey).toBeUndefined()
      expect(await organizations(url)).toEqual([])
      const status = async (path: string) => (await fetch(`${platform.url}${path}`)).status
      expect([await status("/metrics"), await status("/dev/mailbox"), await status("/livez")]).toEqual([401, 404, 200])
      const lines = platform.stderr().trim().split("\n")
      expect(lines.map((line) => typeof JSON.parse(line))).toEqual(lines.map(() => "object"))
      expect(platform.stderr()).toContain("set SLUICE_PUBLIC_URL")
      expect(platform.stderr()).not.toContain("Development mode")
    }))

  it("gives the demo key the value of SLUICE_DEMO_KEY", async () => {
    const key = `sk_test_${"0aZ".repeat(8)}`
    await started({ SLUICE_DEMO_KEY: key, NODE_ENV: "production", SLUICE_DEMO: "on" }, async (platform, url) => {
      expect(platform.demoKey).toBe(key)
      expect(await organizations(url)).toEqual([{ name: "demo" }])
      expect(await query(url, "select mode, services, scopes from api_keys")).toEqual([
        { mode: "test", services: ["directory", "send", "telco", "talk", "voip", "transcribe"], scopes: ["*"] }
      ])
      const answer = await fetch(`${platform.url}/v1/carriers?limit=1`, { headers: { "x-api-key": key } })
      expect(answer.status).toBe(200)
      const domains = await fetch(`${platform.url}/v1/send/domains`, { headers: { "x-api-key": key } })
      expect(await domains.json()).toMatchObject({ data: [{ name: "demo.test", status: "verified" }] })
      expect(await query(url, "select mode, name, status, proof from send_domains order by mode")).toEqual(
        ["live", "test"].map((mode) => ({ mode, name: "demo.test", status: "verified", proof: "unchecked" }))
      )
    })
  })

  it("loses no key of a start that fails once it was shown", async () => {
    const url = await database("seeded")
    const environment = { DATABASE_URL: url, NATS_URL: inject("natsUrl"), SLUICE_PORT: "0" }
    // Fails the commit, which is the last that can.
    await query(url, "create function fail() returns trigger language plpgsql as 'begin raise exception ''no''; end'")
    await query(
      url,
      "create constraint trigger fail after insert on api_keys deferrable initially deferred for each row execute function fail()"
    )
    const failed = await commandHere(["serve"], { ...environment, SLUICE_DATA_DIR: await folder() })
    expect({ code: failed.code, last: failed.stderr.trimEnd().split("\n").at(-1) }).toEqual({
      code: 1,
      last: "sluice: no"
    })
    expect(await organizations(url)).toEqual([])
    await query(url, "drop trigger fail on api_keys")
    const platform = await startPlatformHere(environment)
    const answer = await fetch(`${platform.url}/v1/npa/${usNpa}`, { headers: { "x-api-key": platform.demoKey! } })
    await platform.stop()
    expect(answer.status).toBe(200)
  })
})

/** Enough of the protocol to be taken for a PostgreSQL 15.4: lets everybody in and answers every query with its version. */
const answerAsOldPostgres = (socket: Socket): void => {
  const message = (type: string, ...parts: ReadonlyArray<Buffer>) => {
    const body = Buffer.concat(parts)
    const length = Buffer.alloc(4)
    length.writeInt32BE(body.length + 4)
    return Buffer.concat([Buffer.from(type), length, body])
  }
  const int16 = (value: number) => Buffer.from([value >> 8, value & 255])
  const int32 = (value: number) => Buffer.from([value >> 24, value >> 16, value >> 8, value])
  const text = (value: string) => Buffer.from(`${value}\0`)
  const column = (name: string, type: number) =>
    Buffer.concat([text(name), int32(0), int16(0), int32(type), int16(-1 & 0xffff), int32(-1), int16(1)])
  const value = (bytes: Buffer) => Buffer.concat([int32(bytes.length), bytes])
  const ready = message("Z", Buffer.from("I"))
  let greeted = false
  socket.on("data", (data) => {
    if (!greeted) {
      greeted = true
      const status = message("S", text("server_version"), text("15.4"))
      socket.write(Buffer.concat([message("R", int32(0)), status, message("K", int32(1), int32(1)), ready]))
    } else if (data.toString("latin1", 0, 1) === "P") {
      const columns = [column("version", 25), column("number", 23), column("readOnly", 16)]
      const values = [value(Buffer.from("15.4")), value(int32(150_004)), value(Buffer.from([0]))]
      socket.write(
        Buffer.concat([
          message("1"),
          message("2"),
          message("T", int16(columns.length), ...columns),
          message("D", int16(values.length), ...values),
          message("C", text("SELECT 1")),
          ready
        ])
      )
    } else socket.end()
  })
}
