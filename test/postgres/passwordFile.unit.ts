/** The password file as libpq's documentation describes it (34.16). */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { vi } from "vitest"
import { defaultPasswordFile, passwordIn } from "../../src/postgres/passwordFile.ts"

const target = { host: "db.internal", port: 5_432, database: "sluice", user: "app" }

describe("the password of a target", () => {
  const cases: ReadonlyArray<readonly [string, string, object, string | undefined]> = [
    ["the line that names it", "db.internal:5432:sluice:app:secret", {}, "secret"],
    ["everything as a wildcard", "*:*:*:*:secret", {}, "secret"],
    ["the first line that fits", "*:*:*:other:no\n*:*:*:app:first\n*:*:*:app:second", {}, "first"],
    ["another host", "elsewhere:5432:sluice:app:secret", {}, undefined],
    ["another port", "db.internal:5433:sluice:app:secret", {}, undefined],
    ["another database", "db.internal:5432:other:app:secret", {}, undefined],
    ["comments and empty lines", "# *:*:*:*:no\n\n*:*:*:*:secret\n", {}, "secret"],
    ["line ends of Windows", "*:*:*:*:secret\r\n", {}, "secret"],
    ["colons and backslashes that are escaped", "*:*:*:a\\:b:p\\:q\\\\r", { user: "a:b" }, "p:q\\r"],
    ["colons in a password as they are", "*:*:*:*:p:q", {}, "p:q"],
    ["a socket of this machine by its name", "localhost:*:*:*:secret", { host: "/run/postgresql" }, "secret"],
    ["a socket of this machine by its folder", "/run/postgresql:*:*:*:secret", { host: "/run/postgresql" }, "secret"],
    ["localhost for another host", "localhost:*:*:*:secret", {}, undefined],
    ["a line without a password", "*:*:*:*:\n*:*:*:*", {}, undefined],
    ["an empty file", "", {}, undefined]
  ]
  for (const [title, text, change, expected] of cases)
    it(title, () => {
      expect(passwordIn(text, { ...target, ...change })).toBe(expected)
    })

  const Pieces = Schema.Array(Schema.Literals(["a", "B", "é", ":", "\\", "*", " "])).check(Schema.isMaxLength(5))
  // An asterisk alone stands for everything.
  const word = (pieces: ReadonlyArray<string>): string => `x${pieces.join("")}`
  it.prop(
    "is found however its characters are escaped, behind lines for others",
    [Pieces, Pieces, Pieces, Pieces, Schema.Array(Pieces)],
    ([ofHost, ofDatabase, ofUser, ofPassword, ofOthers]) => {
      const [host, database, user, password] = [word(ofHost), word(ofDatabase), word(ofUser), word(ofPassword)]
      const escaped = (text: string) => text.replaceAll(/[\\:]/g, "\\$&")
      const line = (who: string, secret: string) => [host, "5432", database, who, secret].map(escaped).join(":")
      const others = ofOthers.map(word).filter((other) => other !== user)
      const text = [...others.map((other) => line(other, "another")), line(user, password)].join("\n")
      expect(passwordIn(text, { host, port: 5_432, database, user })).toBe(password)
    }
  )
})

describe("the user's own file", () => {
  it("is read where it has a line for the target and belongs to its owner alone", () => {
    const home = mkdtempSync(join(tmpdir(), "sluice-home-"))
    const path = join(home, ".pgpass")
    vi.stubEnv("HOME", home)
    try {
      expect(defaultPasswordFile(target)).toBeUndefined()
      writeFileSync(path, "db.internal:5432:sluice:app:secret\n", { mode: 0o600 })
      expect(defaultPasswordFile(target)).toBe(path)
      expect(defaultPasswordFile({ ...target, host: "elsewhere" })).toBeUndefined()
      chmodSync(path, 0o640)
      expect(defaultPasswordFile(target)).toBeUndefined()
    } finally {
      vi.unstubAllEnvs()
      rmSync(home, { recursive: true })
    }
  })
})
