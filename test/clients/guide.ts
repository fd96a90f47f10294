/** Runs the programs of docs/languages.md: the first email against a platform, the signature check with right and wrong signatures. */
import { spawnSync } from "node:child_process"
import { createHmac } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Programs of a language: how each is run. */
const runs: Readonly<Record<string, { readonly program: string; readonly args: ReadonlyArray<string> }>> = {
  python: { program: "python3", args: [] },
  php: { program: "php", args: [] },
  go: { program: "go", args: ["run"] }
}

const secret = "whsec_YW4gZXhhbXBsZSwgbm90IGEgc2VjcmV0"
const body = JSON.stringify({ type: "telco.lookup.completed", data: { text: "Zürich" } })

const signed = (seconds: number, key: string): string =>
  `t=${seconds},v1=${createHmac("sha256", key).update(`${seconds}.${body}`).digest("hex")}`

/** Failures by what was run; empty where all is well. */
export const runGuide = (
  language: string,
  environment: Readonly<Record<string, string>>
): { readonly passed: number; readonly failures: ReadonlyArray<string> } => {
  const text = readFileSync(new URL("../../docs/languages.md", import.meta.url), "utf8")
  const blocks = [...text.matchAll(/^```(\w+)\n((?:<\?php )?(?:#|\/\/) (\w+\.\w+)\n[\s\S]*?)^```$/gm)]
  const { args, program } = runs[language]!
  const folder = mkdtempSync(join(tmpdir(), "sluice-guide-"))
  const failures: Array<string> = []
  let passed = 0
  const check = (
    name: string,
    more: Readonly<Record<string, string>>,
    isRight: (code: number, output: string) => boolean
  ) => {
    const { status, stderr, stdout } = spawnSync(program, [...args, join(folder, name)], {
      cwd: folder,
      env: { ...process.env, ...environment, ...more },
      input: body,
      encoding: "utf8"
    })
    if (isRight(status ?? 1, stdout)) passed++
    else failures.push(`${name}: ${status} ${stdout}${stderr}`)
  }
  try {
    const names = blocks.flatMap(([, of, program, name]) => {
      if (of !== language) return []
      writeFileSync(join(folder, name!), program!)
      return [name!]
    })
    const [send, verify] = names
    if (send === undefined || verify === undefined) throw new Error(`docs/languages.md has no programs in ${language}`)
    const now = Math.floor(Date.now() / 1000)
    check(send, {}, (code, output) => code === 0 && output.includes('"state":"queued"'))
    const given = (signature: string) => ({ SECRET: secret, SIGNATURE: signature })
    check(
      verify,
      given(signed(now, secret)),
      (code, output) => code === 0 && output.trim() === "telco.lookup.completed"
    )
    const rotated = `${signed(now, "whsec_other")},${signed(now, secret).split(",")[1]}`
    check(verify, given(rotated), (code) => code === 0)
    for (const wrong of [signed(now, "whsec_other"), signed(now - 600, secret), "", "t=x,v1=y"])
      check(verify, given(wrong), (code) => code !== 0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return { passed, failures }
}
