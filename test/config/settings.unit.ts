import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redacted, Result } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { demoWanted, describeConfig, InvalidConfig, resolveConfig } from "../../src/config/settings.ts"

const resolved = (environment: Record<string, string>, flags: Record<string, string> = {}) =>
  Result.getOrThrow(resolveConfig(environment, flags))

const development = { SLUICE_DEVELOPMENT: "on" }

describe("configuration", () => {
  it("[platform 8.3] has defaults for everything that must have a value", () => {
    const { config } = resolved({})
    expect(config).toMatchObject({ host: "127.0.0.1", port: 8080, dataDir: ".sluice", logLevel: "info" })
    expect(config.databaseUrl).toBeUndefined()
  })

  it("takes flags over the environment over defaults, and says which", () => {
    const { config, lines } = resolved({ SLUICE_PORT: "1", SLUICE_HOST: "::1" }, { port: "2" })
    expect(config.port).toBe(2)
    expect(config.host).toBe("::1")
    expect(lines.find((line) => line.name === "port")).toMatchObject({ value: "2", source: "flag" })
    expect(lines.find((line) => line.name === "host")).toMatchObject({ value: "::1", source: "environment" })
    expect(lines.find((line) => line.name === "dataDir")).toMatchObject({ value: ".sluice", source: "default" })
  })

  it("counts an empty variable as absent", () => {
    expect(resolved({ SLUICE_PORT: "", DATABASE_URL: "" }).config).toMatchObject({ port: 8080, databaseUrl: undefined })
  })

  it("reports all faults together, naming variable or flag and quoting the text", () => {
    const result = resolveConfig(
      { SLUICE_PORT: "http", NATS_URL: "http://nats", SLUICE_DEMO: "maybe", SLUICE_LOG_LEVEL: "loud" },
      { maxBodyBytes: "1" }
    )
    const fault = Result.isFailure(result) ? result.failure : undefined
    expect(fault).toBeInstanceOf(InvalidConfig)
    expect(fault?.faults).toEqual([
      'SLUICE_PORT must be a whole number from 0 to 65535, not "http"',
      "NATS_URL must be an address such as nats://user:password@host:4222, several separated by commas (it does not begin with nats:// or tls://)",
      'SLUICE_DEMO must be one of on, off, not "maybe"',
      'SLUICE_LOG_LEVEL must be one of trace, debug, info, warn, error, none, not "loud"',
      '--max-body-bytes must be a whole number from 1024 to 16777216, not "1"'
    ])
  })

  it("never shows a secret: not in a fault, not in the table", () => {
    const secret = "s3cr3tpassword"
    const faulty = resolveConfig({ SLUICE_DEMO_KEY: secret, DATABASE_URL: `mysql://u:${secret}@h/d` })
    expect(Result.isFailure(faulty) ? faulty.failure.message : secret).not.toContain(secret)
    const { lines, config } = resolved({
      DATABASE_URL: `postgres://sluice:${secret}@db.internal:5432/sluice?sslpassword=${secret}`,
      SLUICE_ADMIN_KEY: `adm_${secret}0000000000`
    })
    expect(describeConfig(lines)).not.toContain(secret)
    expect(describeConfig(lines)).toContain("postgres://<redacted>@db.internal:5432/sluice")
    expect(JSON.stringify(config)).not.toContain(secret)
    expect(Redacted.value(config.databaseUrl!)).toContain(secret)
  })

  describe("secrets in files", () => {
    const folder = mkdtempSync(join(tmpdir(), "secrets-"))
    afterAll(() => rmSync(folder, { recursive: true }))
    const key = `adm_${"a1".repeat(11)}`
    const file = (text: string): string => {
      const path = join(folder, `${readdirSync(folder).length}`)
      writeFileSync(path, text)
      return path
    }
    const faultsOf = (environment: Record<string, string>) => {
      const result = resolveConfig(environment)
      return Result.isFailure(result) ? result.failure.faults : []
    }

    it("takes the text of the file, without the line break at its end", () => {
      for (const text of [key, `${key}\n`, `${key}\r\n`]) {
        const { config, lines } = resolved({ SLUICE_ADMIN_KEY_FILE: file(text) })
        expect(Redacted.value(config.adminKey!)).toBe(key)
        expect(lines.find(({ name }) => name === "adminKey")).toMatchObject({ value: "<redacted>", source: "file" })
      }
    })

    it("refuses a file that it cannot use, and names it without its text", () => {
      const cases: ReadonlyArray<readonly [string, string]> = [
        [join(folder, "nowhere"), "cannot be read (ENOENT)"],
        [folder, "is no file"],
        ["/dev/zero", "is no file"],
        [file(""), "is empty"],
        [file("\n"), "is empty"],
        [file("a".repeat(70_000)), "has more than 65536 bytes"]
      ]
      for (const [path, why] of cases)
        expect(faultsOf({ SLUICE_ADMIN_KEY_FILE: path })).toEqual([
          `SLUICE_ADMIN_KEY_FILE names ${JSON.stringify(path)}, which ${why}`
        ])
      const [fault] = faultsOf({ SLUICE_ADMIN_KEY_FILE: file("s3cr3t") })
      expect(fault).toContain("The text of the file that SLUICE_ADMIN_KEY_FILE names must be a key such as adm_")
      expect(fault).not.toContain("s3cr3t")
    })

    it("refuses a secret that is given twice, and a file for a setting that is no secret", () => {
      expect(faultsOf({ SLUICE_ADMIN_KEY: key, SLUICE_ADMIN_KEY_FILE: file(key) })).toEqual([
        "SLUICE_ADMIN_KEY and SLUICE_ADMIN_KEY_FILE are both set, and only one can count"
      ])
      expect(resolved({ SLUICE_PORT_FILE: "/run/port", SLUICE_ADMIN_KEY_FILE: file(key) }).unknown).toEqual([
        "SLUICE_PORT_FILE"
      ])
    })
  })

  it("refuses files for a NATS server that is not named", () => {
    const result = resolveConfig({ NATS_NKEY: "/seed", NATS_CA: "/ca.pem" })
    expect(Result.isFailure(result) ? result.failure.faults : []).toEqual([
      "NATS_NKEY needs NATS_URL, the server that it is for",
      "NATS_CA needs NATS_URL, the server that it is for"
    ])
  })

  it("takes several NATS servers, and shows addresses without their credentials", () => {
    const { lines, config } = resolved({
      NATS_URL: "nats://sluice:s3cr@t@one:4222, nats://two:4222",
      DATABASE_URL: "postgres://sluice:s3cr@t@db:5432/sluice"
    })
    expect(Redacted.value(config.natsUrl!)).toContain("one:4222, nats://two")
    expect(lines.filter(({ source }) => source === "environment").map(({ value }) => value)).toEqual([
      "postgres://<redacted>@db:5432/sluice",
      "nats://<redacted>@one:4222,nats://two:4222"
    ])
  })

  it.each([
    ["DATABASE_URL", "postgres://sluice:12345/s3cr3t@db/sluice", "encode / ? # and @ in a password"],
    ["DATABASE_URL", "postgres://sluice:12#s3cr3t@db/sluice", "encode / ? # and @ in a password"],
    ["NATS_URL", "nats://sluice:12/s3cr3t@one", "encode / ? and # in a password"],
    ["NATS_URL", "wss://sluice:s3cr3t@one", "it does not begin with nats:// or tls://"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "authorization=%E4s3cr3t", "percent-encoded values"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "s3cr3t", "headers such as name=value"]
  ])("refuses a secret of the wrong form and says how it should be: %s=%s", (name, value, sentence) => {
    const result = resolveConfig({ [name]: value })
    const faults = Result.isFailure(result) ? result.failure.faults : []
    expect(faults).toHaveLength(1)
    expect(faults[0]).toContain(sentence)
    expect(faults[0]).not.toContain("s3cr3t")
  })

  it.each(["a.b", "a b", "*", ">", "a".repeat(65)])("refuses %s as a namespace of the logs", (namespace) => {
    const result = resolveConfig({ SLUICE_LOG_NAMESPACE: namespace })
    expect(Result.isFailure(result) ? result.failure.faults : []).toEqual([
      `SLUICE_LOG_NAMESPACE must be 1 to 64 letters, digits, _ and -, not ${JSON.stringify(namespace)}`
    ])
    expect(resolved({ SLUICE_LOG_NAMESPACE: "eu-1_test" }).config.logNamespace).toBe("eu-1_test")
  })

  it("refuses one port for both listeners", () => {
    const result = resolveConfig({ SLUICE_PORT: "8080", SLUICE_ADMIN_PORT: "8080" })
    expect(Result.isFailure(result) ? result.failure.faults : []).toEqual([
      "SLUICE_ADMIN_PORT must be another port than SLUICE_PORT, not 8080"
    ])
    expect(resolved({ SLUICE_PORT: "0", SLUICE_ADMIN_PORT: "0" }).config.port).toBe(0)
    expect(resolved({ SLUICE_PORT: "8080", SLUICE_ADMIN_PORT: "8080", SLUICE_HOST: "::1" }).config.port).toBe(8080)
  })

  it("[handoff 7] wants a certificate for submitted mail, except in development mode on a loopback address", () => {
    const faultsOf = (environment: Record<string, string>) => {
      const result = resolveConfig({ SLUICE_SUBMISSION_PORT: "587", ...environment }, {})
      return Result.isFailure(result) ? result.failure.faults.map((fault) => fault.split(",")[0]) : []
    }
    const missing = "SLUICE_SUBMISSION_PORT needs SLUICE_SUBMISSION_TLS_CERT and SLUICE_SUBMISSION_TLS_KEY"
    expect(faultsOf({})).toEqual([missing])
    expect(faultsOf({ SLUICE_DEVELOPMENT: "on", SLUICE_SUBMISSION_HOST: "0.0.0.0" })).toEqual([missing])
    expect(faultsOf({ SLUICE_DEVELOPMENT: "on", NODE_ENV: "production" })).toEqual([missing])
    expect(faultsOf({ SLUICE_DEVELOPMENT: "on" })).toEqual([])
    const certificate = { SLUICE_SUBMISSION_TLS_CERT: "a.pem" }
    expect(faultsOf(certificate)).toEqual([
      "SLUICE_SUBMISSION_TLS_CERT and SLUICE_SUBMISSION_TLS_KEY belong together: set both"
    ])
    expect(faultsOf({ ...certificate, SLUICE_SUBMISSION_TLS_KEY: "b.pem" })).toEqual([])
  })

  it("names variables that look like ours and are not", () => {
    expect(resolved({ SLUICE_PROT: "1", PATH: "/bin" }).unknown).toEqual(["SLUICE_PROT"])
    const ofOthers = {
      SLUICE_TEST_ALL: "1",
      SLUICE_SERVICE_HOST: "10.0.0.1",
      SLUICE_SERVICE_PORT: "8080",
      SLUICE_SERVICE_PORT_HTTP: "8080",
      SLUICE_PORT: "tcp://10.0.0.1:8080",
      SLUICE_PORT_8080_TCP: "tcp://10.0.0.1:8080",
      SLUICE_PORT_8080_TCP_PROTO: "tcp",
      SLUICE_PORT_8080_TCP_PORT: "8080",
      SLUICE_PORT_8080_TCP_ADDR: "10.0.0.1",
      SLUICE_ADMIN_SERVICE_HOST: "10.0.0.2",
      SLUICE_ADMIN_PORT: "tcp://10.0.0.2:8081"
    }
    const { config, unknown } = resolved(ofOthers)
    expect([unknown, config.port, config.adminPort]).toEqual([[], 8080, 0])
    const misspelt = { SLUICE_SERVICE_HOSTS: "a", SLUICE_PORTS: "1", SLUICE_TESTS: "1", SLUICE_PARTITION: "4" }
    expect(resolved({ ...ofOthers, ...misspelt }).unknown).toEqual(Object.keys(misspelt).toSorted())
    const faulty = resolveConfig({ SLUICE_PROT: "1", SLUICE_PORT: "x" })
    expect(Result.isFailure(faulty) ? faulty.failure.message : "").toBe(
      `The configuration has 2 faults:
  - SLUICE_PORT must be a whole number from 0 to 65535, not "x"
  - the environment variable SLUICE_PROT is unknown`
    )
  })

  it("[platform 2.7] wants the demo in development mode, or where it is told to", () => {
    expect(demoWanted(resolved({}).config)).toBe(false)
    expect(demoWanted(resolved({ SLUICE_DEMO: "on" }).config)).toBe(true)
    expect(demoWanted(resolved(development).config)).toBe(true)
    expect(demoWanted(resolved({ ...development, NODE_ENV: "production" }).config)).toBe(false)
    expect(demoWanted(resolved({ NODE_ENV: "production", SLUICE_DEMO: "on" }).config)).toBe(true)
    expect(demoWanted(resolved({ ...development, SLUICE_DEMO: "off" }).config)).toBe(false)
    const { lines } = resolved({ ...development, NODE_ENV: "production" })
    expect(lines.find(({ name }) => name === "development")).toMatchObject({ value: "off" })
    expect(lines.find(({ name }) => name === "demo")).toMatchObject({ value: "off", source: "default" })
  })

  it("lets webhooks go anywhere in a development start with servers of its own, and nowhere else unless told", () => {
    const targets = (environment: Record<string, string>) =>
      resolved({ ...development, ...environment }).config.webhookTargets
    expect(resolved({}).config.webhookTargets).toBe("public")
    const servers = { DATABASE_URL: "postgres://db/sluice", NATS_URL: "nats://one:4222" }
    expect(targets({})).toBe("any")
    for (const host of ["127.0.0.2", "::1", "localhost"]) expect(targets({ SLUICE_HOST: host })).toBe("any")
    for (const host of ["0.0.0.0", "::", "10.0.0.1", "sluice.example"]) {
      expect(targets({ SLUICE_HOST: host })).toBe("public")
      expect(targets({ SLUICE_HOST: host, SLUICE_WEBHOOK_TARGETS: "any" })).toBe("any")
    }
    expect(targets({ NODE_ENV: "production" })).toBe("public")
    expect(targets({ NODE_ENV: "production", SLUICE_WEBHOOK_TARGETS: "any" })).toBe("any")
    expect(targets({ SLUICE_WEBHOOK_TARGETS: "public" })).toBe("public")
    expect(targets(servers)).toBe("public")
    expect(targets({ DATABASE_URL: servers.DATABASE_URL })).toBe("public")
    expect(targets({ NATS_URL: servers.NATS_URL })).toBe("public")
    expect(targets({ ...servers, SLUICE_WEBHOOK_TARGETS: "any" })).toBe("any")
    const { lines } = resolved(development)
    expect(lines.find(({ name }) => name === "webhookTargets")).toMatchObject({ value: "any", source: "default" })
  })

  it("opens the metrics where only this machine reaches them, and else for the operator", () => {
    const metrics = (environment: Record<string, string>) => resolved(environment).config.metrics
    expect(metrics({})).toBe("admin")
    expect(metrics(development)).toBe("open")
    expect(metrics({ ...development, SLUICE_HOST: "0.0.0.0" })).toBe("admin")
    expect(metrics({ SLUICE_HOST: "0.0.0.0" })).toBe("admin")
    expect(metrics({ SLUICE_HOST: "0.0.0.0", SLUICE_METRICS: "open" })).toBe("open")
    expect(metrics({ SLUICE_METRICS: "admin" })).toBe("admin")
  })

  it("takes several keys for signing secrets, and shows none of them", () => {
    const [key, earlier] = ["ab".repeat(32), "A".repeat(43)]
    const { lines, config } = resolved({ SLUICE_SECRETS_KEY: `${key},${earlier}` })
    expect(Redacted.value(config.secretsKey!).map(({ bytes }) => bytes.length)).toEqual([32, 32])
    expect(describeConfig(lines)).toMatch(/SLUICE_SECRETS_KEY +<redacted> /)
    const faulty = resolveConfig({ SLUICE_SECRETS_KEY: `${key},s3cr3t` })
    const faults = Result.isFailure(faulty) ? faulty.failure.faults : []
    expect(faults).toEqual([
      "SLUICE_SECRETS_KEY must be 32 bytes in base64 or hexadecimal, such as `openssl rand -base64 32` makes, earlier keys behind a comma"
    ])
  })

  it("reads the proxy of webhooks, and where they come from", () => {
    const { config } = resolved({
      SLUICE_WEBHOOK_PROXY: "https://ann:p%40ss@proxy.example",
      SLUICE_WEBHOOK_SOURCES: "203.0.113.7, 2001:db8::/48"
    })
    expect(String(config.webhookProxy)).not.toContain("ann")
    expect(config.webhookSources).toEqual(["203.0.113.7", "2001:db8::/48"])
    const faults = (environment: Record<string, string>) => () => resolved(environment)
    for (const proxy of ["socks5://proxy", "http://proxy/path", "http://"])
      expect(faults({ SLUICE_WEBHOOK_PROXY: proxy })).toThrow("SLUICE_WEBHOOK_PROXY")
    for (const sources of ["example.com", "203.0.113.7/33", "10.0.0.1,", "1.2.3.4/8/8"])
      expect(faults({ SLUICE_WEBHOOK_SOURCES: sources })).toThrow("SLUICE_WEBHOOK_SOURCES")
  })
})
