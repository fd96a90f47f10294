/** A manifest for tests: an empty backup of one partition, sealed under a key that everybody knows. */
import type { Manifest } from "../../../src/app/backup/backupManifest.ts"
import { parseSecretsKeys } from "../../../src/common/secretsKeys.ts"

export const keys = parseSecretsKeys("5e".repeat(32))!

export const sampleManifest: Manifest = {
  format: 1,
  id: "20260131T090500123Z",
  createdAt: "2026-01-31T09:05:00.123Z",
  positionsAt: "2026-01-31T09:05:01.000Z",
  program: "0.1.0",
  formatLevel: 3,
  migration: { number: 35, name: "lines of webhook deliveries" },
  deployment: "7c4f",
  partitions: 1,
  namespace: null,
  keyId: keys[0].id,
  tables: [],
  days: [],
  sequences: [],
  witnesses: [],
  streams: []
}
