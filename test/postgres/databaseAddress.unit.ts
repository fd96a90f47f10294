/** Addresses of PostgreSQL as libpq's documentation writes them (34.1.1.2), and TLS with its meaning of `sslmode`. */
import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { readAddress } from "../../src/postgres/address.ts"
import { fitsAttributes } from "../../src/postgres/config.ts"
import { tlsOptions } from "../../src/postgres/tls.ts"

const base = { user: "postgres", database: "postgres", hosts: [{ host: "localhost", port: 5_432 }], sslMode: "prefer" }
const read = (text: string, environment = {}) => Result.getOrThrow(readAddress(text, environment))

describe("what libpq takes", () => {
  const cases: ReadonlyArray<readonly [string, object]> = [
    ["postgresql://", base],
    ["postgresql://localhost", base],
    ["postgresql://localhost:5433", { hosts: [{ host: "localhost", port: 5_433 }] }],
    ["postgresql://localhost/mydb", { database: "mydb" }],
    ["postgresql://user@localhost", { user: "user", database: "user" }],
    ["postgresql://user:secret@localhost", { user: "user", password: "secret" }],
    [
      "postgresql://other@localhost/otherdb?connect_timeout=10&application_name=myapp",
      { user: "other", database: "otherdb" }
    ],
    [
      "postgresql://host1:123,host2:456/somedb?target_session_attrs=any&application_name=myapp",
      {
        database: "somedb",
        hosts: [
          { host: "host1", port: 123 },
          { host: "host2", port: 456 }
        ]
      }
    ],
    ["postgresql:///mydb?host=localhost&port=5433", { database: "mydb", hosts: [{ host: "localhost", port: 5_433 }] }],
    ["postgresql://[2001:db8::1234]/database", { hosts: [{ host: "2001:db8::1234", port: 5_432 }] }],
    ["postgresql:///dbname?host=/var/lib/postgresql", { hosts: [{ host: "/var/lib/postgresql", port: 5_432 }] }],
    ["postgresql://%2Fvar%2Flib%2Fpostgresql/dbname", { hosts: [{ host: "/var/lib/postgresql", port: 5_432 }] }],
    [
      "postgres://sluice:secret@/sluice?host=/run/postgresql",
      { user: "sluice", password: "secret", hosts: [{ host: "/run/postgresql", port: 5_432 }] }
    ],
    [
      "postgres://a,b,c:7000/x?port=6000&target_session_attrs=primary",
      {
        hosts: ["a", "b", "c"].map((host) => ({ host, port: 6_000 })),
        sessionAttributes: "primary"
      }
    ],
    ["postgres://u:p%40ss%3Aw%2Frd%3F%23@h/d", { password: "p@ss:w/rd?#" }],
    // More than libpq takes: the last one ends the password.
    ["postgres://u:p@ss@h/d", { password: "p@ss", hosts: [{ host: "h", port: 5_432 }] }],
    ["postgres://h/d?sslmode=verify-ca&sslrootcert=/ca.pem", { sslMode: "verify-ca", sslRootCert: "/ca.pem" }],
    ["postgres://h/d?sslcert=/c&sslkey=/k", { sslCert: "/c", sslKey: "/k" }],
    ["postgres://u@h/d?passfile=/run/pgpass", { user: "u", password: undefined, passFile: "/run/pgpass" }],
    ["postgres://h/d?ssl=true", { sslMode: "require" }],
    ["postgres://h/d?options=-c%20geqo%3Doff", { options: "-c geqo=off" }]
  ]
  for (const [text, expected] of cases)
    it(text, () => {
      expect(read(text)).toMatchObject(expected)
    })

  it("the environment says what the address does not", () => {
    const environment = {
      PGHOST: "one,two",
      PGPORT: "1,2",
      PGUSER: "u",
      PGPASSWORD: "p",
      PGPASSFILE: "/passwords",
      PGDATABASE: "d",
      PGSSLMODE: "verify-full",
      PGSSLROOTCERT: "system",
      PGSSLCERT: "/c",
      PGSSLKEY: "/k",
      PGTARGETSESSIONATTRS: "read-write"
    }
    expect(read("postgres://", environment)).toEqual({
      hosts: [
        { host: "one", port: 1 },
        { host: "two", port: 2 }
      ],
      user: "u",
      password: "p",
      passFile: "/passwords",
      database: "d",
      sslMode: "verify-full",
      sslRootCert: "system",
      sslCert: "/c",
      sslKey: "/k",
      sslPassword: undefined,
      sessionAttributes: "read-write",
      options: undefined
    })
    expect(read("postgres://me:mine@three:3/mine?sslmode=disable", environment)).toMatchObject({
      hosts: [{ host: "three", port: 3 }],
      user: "me",
      password: "mine",
      database: "mine",
      sslMode: "disable"
    })
  })
})

describe("what it refuses", () => {
  const cases: ReadonlyArray<readonly [string, string]> = [
    ["mysql://h/d", "postgres://"],
    ["", "postgres://"],
    ["postgres://h:99999/d", "port"],
    ["postgres://h:0/d", "port"],
    ["postgres://a,b:1,c/d?port=1,2", "2 ports for 3 hosts"],
    ["postgres://u:12/s3cr3t@h/d", "encode"],
    ["postgres://u:12#s3cr3t@h/d", "encode"],
    ["postgres://u:12?s3cr3t@h/d", "encode"],
    ["postgres://h/d?sslmode=yes", "sslmode is one of"],
    ["postgres://h/d?target_session_attrs=leader", "target_session_attrs is one of"],
    ["postgres://h/d?sslmod=require", '"sslmod" is not known'],
    ["postgres://u:%zz@h/d", "hexadecimal"]
  ]
  for (const [text, reason] of cases)
    it(text, () => {
      const found = readAddress(text, {})
      const failure = Result.isFailure(found) ? found.failure : "accepted"
      expect(failure).toContain(reason)
      expect(failure).not.toMatch(/s3cr/)
    })
})

describe("TLS", () => {
  const address = read("postgres://h/d")
  const options = (more: object) => tlsOptions({ ...address, ...more })

  it("require encrypts and looks at nobody's name, verify-full at all of it", () => {
    expect(options({ sslMode: "require" }).rejectUnauthorized).toBe(false)
    expect(options({ sslMode: "prefer" }).rejectUnauthorized).toBe(false)
    const ca = options({ sslMode: "verify-ca" })
    expect(ca.rejectUnauthorized).toBe(true)
    expect(ca.checkServerIdentity?.("another", {} as never)).toBeUndefined()
    const full = options({ sslMode: "verify-full" })
    expect(full.rejectUnauthorized).toBe(true)
    expect(full.checkServerIdentity).toBeUndefined()
  })

  it("an authority makes require verify it, and a file that is not there is named", () => {
    const own = new URL(import.meta.url).pathname
    const required = options({ sslMode: "require", sslRootCert: own })
    expect(required.rejectUnauthorized).toBe(true)
    expect(String(required.ca)).toContain("an authority makes require verify it")
    expect(options({ sslMode: "verify-full", sslCert: own, sslKey: own })).toMatchObject({
      cert: expect.any(Buffer),
      key: expect.any(Buffer)
    })
    expect(() => options({ sslMode: "verify-ca", sslRootCert: "/nowhere/ca.pem" })).toThrow("/nowhere/ca.pem")
  })
})

it("a server is taken by what it is", () => {
  const primary = { isStandby: false, isReadOnly: false }
  const standby = { isStandby: true, isReadOnly: true }
  const readOnly = { isStandby: false, isReadOnly: true }
  const fits = (wanted: Parameters<typeof fitsAttributes>[1]) =>
    [primary, standby, readOnly].map((role) => fitsAttributes(role, wanted))
  expect(fits("any")).toEqual([true, true, true])
  expect(fits("read-write")).toEqual([true, false, false])
  expect(fits("read-only")).toEqual([false, true, true])
  expect(fits("primary")).toEqual([true, false, true])
  expect(fits("standby")).toEqual([false, true, false])
  expect(fits("prefer-standby")).toEqual([false, true, false])
})
