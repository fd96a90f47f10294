/**
 * Golden data: a small platform as an earlier version has left it, kept as a backup (docs/backup.md) beside the answers
 * that the version gave. `golden.e2e.ts` starts the present version on each.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"

/** The key of all golden data; nothing secret is under it. */
export const goldenSecretsKey = "60".repeat(32)
export const goldenAdminKey = `adm_${"Gd1".repeat(10)}`

/** Folders of golden data, one for each version. */
export const goldenFolder = new URL("golden/", import.meta.url)

/** A request whose answer a later version must give as well. */
export interface GoldenAnswer {
  readonly path: string
  /** Which of the keys asks. */
  readonly by: "key" | "sendKey"
  readonly body: unknown
}

export interface GoldenData {
  /** The version's last migration. */
  readonly migration: number
  readonly namespace: string
  /** When the platform was stopped, Unix milliseconds. The present version runs on from then. */
  readonly stoppedAt: number
  readonly organization: string
  readonly key: string
  readonly sendKey: string
  readonly endpoint: string
  /** Signs the endpoint's deliveries. */
  readonly secret: string
  /** A request that was accepted once, under its key. */
  readonly repeat: { readonly idempotencyKey: string; readonly body: object; readonly answer: { readonly id: string } }
  readonly answers: ReadonlyArray<GoldenAnswer>
}

export const readGolden = (name: string): GoldenData =>
  JSON.parse(readFileSync(join(goldenFolder.pathname, name, "answers.json"), "utf8")) as GoldenData
