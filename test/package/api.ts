/** `npm run api`: writes the report of the public types to test/package/api.txt. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { apiReport, entriesOf } from "./apiReport.ts"

const root = new URL("../..", import.meta.url).pathname
const given = process.argv[2]
const folder = given ?? mkdtempSync(join(tmpdir(), "sluice-api-"))
try {
  if (given === undefined)
    execFileSync(
      join(root, "node_modules/.bin/tsc"),
      [
        "-p",
        join(root, "src/tsconfig.build.json"),
        "--checkers",
        "1",
        "--emitDeclarationOnly",
        "--declarationMap",
        "false",
        "--outDir",
        folder
      ],
      { stdio: "inherit" }
    )
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Parameters<typeof entriesOf>[0]
  writeFileSync(join(root, "test/package/api.txt"), apiReport(folder, entriesOf(manifest)))
} finally {
  if (given === undefined) rmSync(folder, { recursive: true, force: true })
}
