/** The package's entry points, as package.json has them. Needs nothing built. */
import { readFileSync } from "node:fs"
import { posix } from "node:path"

const manifest = new URL("../../package.json", import.meta.url)

/** The source file of each entry point from the root of the repository, by the name that is imported, such as `sluice/limits`. */
export const entryPoints = (): ReadonlyMap<string, string> => {
  const { exports } = JSON.parse(readFileSync(manifest, "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>
  }
  return new Map(
    Object.entries(exports).flatMap(([path, target]) =>
      typeof target === "string"
        ? []
        : [[posix.join("sluice", path), target.types.replace("./dist/", "src/").replace(/\.d\.ts$/, ".ts")] as const]
    )
  )
}
