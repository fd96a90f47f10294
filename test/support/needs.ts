/**
 * Needs of some tests beyond this repository: programs of the system, or a right. Without them the tests are not run, and the run says so
 * (`reporter.ts`) instead of looking complete: `it("…", needing("python3"), () => …)`, also for a `describe`.
 */
import { spawnSync } from "node:child_process"
import { accessSync, constants, mkdtempSync, rmdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import type { TestOptions } from "vitest"

declare module "vitest" {
  interface TaskMeta {
    /** What a test that is not run lacks. */
    lacks?: string
  }
}

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const onPath = (program: string): boolean =>
  (process.env.PATH ?? "").split(delimiter).some((folder) => isProgram(join(folder, program)))

/** Root of a container may lack it. */
const mayMount = (): boolean => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-mount-"))
  try {
    return spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]).status === 0
  } finally {
    spawnSync("umount", [folder])
    rmdirSync(folder)
  }
}

/** Root of a container may lack it, and the system `ip` or `nft`. */
const mayMakeNamespaces = (): boolean => {
  const name = `sluice-${process.pid}`
  try {
    return (
      spawnSync("ip", ["netns", "add", name]).status === 0 &&
      spawnSync("ip", ["netns", "exec", name, "nft", "list", "ruleset"]).status === 0
    )
  } finally {
    spawnSync("ip", ["netns", "delete", name])
  }
}

/** Rights, and programs that may be on the path and not work: whether they are there, and what the run calls them. */
const special = {
  root: { isThere: () => process.getuid?.() === 0, name: "root" },
  namespaces: {
    isThere: () => process.getuid?.() === 0 && mayMakeNamespaces(),
    name: "the right to make network namespaces"
  },
  mount: { isThere: () => process.getuid?.() === 0 && mayMount(), name: "the right to mount" },
  // Version managers leave programs on the path that stand for none.
  pythonCryptography: {
    isThere: () => spawnSync("python3", ["-c", "import cryptography"]).status === 0,
    name: "python3-cryptography"
  },
  python3: { isThere: () => spawnSync("python3", ["--version"]).status === 0, name: "python3" },
  go: { isThere: () => spawnSync("go", ["version"]).status === 0, name: "go" },
  php: { isThere: () => spawnSync("php", ["--version"]).status === 0, name: "php" }
} as const

/** Programs of the system that only few tests use. */
type Program =
  | "script"
  | "espeak-ng"
  | "lame"
  | "opusenc"
  | "pdftotext"
  | "chromium"
  | "nginx"
  | "caddy"
  | "openssl"
  | "promtool"

export type Need = keyof typeof special | Program

const looked = new Map<Need, string | undefined>()

const lackOf = (need: Need): string | undefined => {
  if (!looked.has(need)) {
    const { isThere, name } =
      need in special ? special[need as keyof typeof special] : { isThere: () => onPath(need), name: need }
    looked.set(need, isThere() ? undefined : name)
  }
  return looked.get(need)
}

/** Options of a test, or of several, that need all of this. */
export const needing = (...needs: ReadonlyArray<Need>): TestOptions => {
  const lacks = needs.flatMap((need) => lackOf(need) ?? []).join(", ")
  return lacks === "" ? {} : { skip: true, meta: { lacks } }
}
