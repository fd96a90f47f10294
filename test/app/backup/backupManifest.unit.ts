/** Manifests: read as they were written, and refused where they were changed, are newer or need another key. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { decodeManifest, encodeManifest, type Manifest } from "../../../src/app/backup/backupManifest.ts"
import { versionProblem } from "../../../src/app/backup/emptyStores.ts"
import { parseSecretsKeys } from "../../../src/common/secretsKeys.ts"
import { keys, sampleManifest } from "./sampleManifest.ts"

const manifest: Manifest = {
  ...sampleManifest,
  tables: [
    { file: "20260131T090500123Z/tables/events", bytes: 9, sha256: "ab", name: "events", columns: ["id"], rows: 2 }
  ],
  days: [{ table: "events", millis: 86_400_000 }]
}
const problemOf = (text: string, by = keys) => {
  const read = decodeManifest(text, by)
  return Result.isFailure(read) ? read.failure : undefined
}

describe("a manifest", () => {
  const text = encodeManifest(manifest, keys[0])

  it("is read as it was written", () => {
    expect(Result.getOrThrow(decodeManifest(text, keys))).toEqual(manifest)
  })

  it("that was changed is refused, in every part", () => {
    expect(problemOf(text.replace('"rows": 2', '"rows": 3'))).toMatchObject({ kind: "damaged" })
    expect(problemOf(text.slice(0, -10))).toMatchObject({ kind: "damaged" })
    expect(problemOf(text.slice(0, text.length / 2))).toMatchObject({ kind: "damaged" })
    expect(problemOf("")).toMatchObject({ kind: "damaged" })
  })

  it("of another key names both keys and the setting", () => {
    const others = parseSecretsKeys("6f".repeat(32))!
    const problem = problemOf(text, others)
    expect(problem?.kind).toBe("key")
    expect(problem?.message).toMatch(new RegExp(`${keys[0].id}.*${others[0].id}.*SLUICE_SECRETS_KEY`))
  })

  it("of a later layout names the version to use, whatever else it holds", () => {
    const later = encodeManifest({ ...manifest, format: 2, tables: undefined } as unknown as Manifest, keys[0])
    expect(problemOf(later)).toMatchObject({ kind: "newer", message: expect.stringContaining("format 2") })
  })

  it("of newer formats or a newer database is refused with the version that can", () => {
    expect(versionProblem(manifest, { level: 3, migration: 35 })).toBeUndefined()
    expect(versionProblem(manifest, { level: 2, migration: 35 })).toMatch(/level 3.*knows level 2.*version 0\.1\.0/)
    expect(versionProblem(manifest, { level: 3, migration: 34 })).toMatch(
      /migration 35.*only up to 34.*version 0\.1\.0/
    )
  })
})
