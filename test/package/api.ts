/** `npm run api`: writes the reports of the public types to test/package/api, one for each entry. */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { apiReports, entriesOf } from "./apiReport.ts"

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
  const reports = join(root, "test/package/api")
  rmSync(reports, { recursive: true, force: true })
  mkdirSync(reports)
  for (const [file, text] of apiReports(folder, entriesOf(manifest))) writeFileSync(join(reports, file), text)
} finally {
  if (given === undefined) rmSync(folder, { recursive: true, force: true })
}
