/** Runs the programs of clients/README.md against a platform, each with its client beside it, as a reader would copy them. */
import { spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { blockOf } from "../documents/blocks.ts"

const clients = fileURLToPath(new URL("../../clients/", import.meta.url))

interface Sample {
  readonly file: string
  /** The first line of the block. */
  readonly begins: string
  /** A folder below `clients`, and its place beside the program. */
  readonly copied: readonly [from: string, to: string]
  readonly program: string
  readonly args: ReadonlyArray<string>
  readonly more?: Readonly<Record<string, string>>
}

/** By language, as the run of the clients names them. */
const samples: Readonly<Record<string, Sample>> = {
  TypeScript: {
    file: "example.ts",
    begins: "// example.ts",
    copied: ["typescript", "typescript"],
    program: process.execPath,
    args: ["example.ts"]
  },
  Python: {
    file: "example.py",
    begins: "# example.py",
    copied: ["python/sluice", "sluice"],
    program: "python3",
    args: ["example.py"]
  },
  Go: {
    file: "example.go",
    begins: "// example.go",
    copied: ["go", "sluice"],
    program: "go",
    args: ["run", "example.go"],
    more: {
      "go.mod": "module example\n\ngo 1.19\n\nrequire sluice v0.0.0\n\nreplace sluice => ./sluice\n"
    }
  }
}

/** Runs the program of a language; failures are sentences. */
export const runSample = (
  language: string,
  target: { readonly url: string; readonly key: string }
): { readonly passed: number; readonly failures: ReadonlyArray<string> } => {
  const { args, begins, copied, file, more = {}, program } = samples[language]!
  const folder = mkdtempSync(join(tmpdir(), "sluice-sample-"))
  try {
    cpSync(join(clients, copied[0]), join(folder, copied[1]), { recursive: true })
    const text = blockOf("clients/README.md", begins).text.replace("http://127.0.0.1:8080", target.url)
    for (const [name, content] of Object.entries({ ...more, [file]: `${text}\n` }))
      writeFileSync(join(folder, name), content)
    const { status, stderr, stdout } = spawnSync(program, args, {
      cwd: folder,
      env: { ...process.env, KEY: target.key },
      encoding: "utf8",
      timeout: 120_000
    })
    const isRight = status === 0 && /^em_\w+$/m.test(stdout)
    return isRight
      ? { passed: 1, failures: [] }
      : { passed: 0, failures: [`clients/README.md in ${language}: ${status} ${stdout}${stderr}`] }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
