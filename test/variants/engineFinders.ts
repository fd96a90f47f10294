/** Who may notice a variant of the engine: its own tests and its simulator. */
import type { Finder } from "./runner/variant.ts"

export const simulation: Finder = { kind: "simulation" }

export const followers: Finder = { kind: "followers" }

export const unit = (...names: ReadonlyArray<string>): Finder => ({
  kind: "unit",
  files: names.map((name) => `test/engine/${name}.unit.ts`)
})

export const src = (name: string): string => `src/engine/${name}.ts`
