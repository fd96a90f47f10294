/**
 * Lists the dated snapshot of real files that comes with the package, for a first start without a network. The NOTICE
 * beside them has their contents, publishers and terms.
 */
import { fileURLToPath } from "node:url"
import type { DatasetKind } from "../model.ts"

/** A file of the snapshot, to be opened like any other source. See {@link bundledSources}. */
export interface BundledSource {
  readonly kind: DatasetKind
  /** Path on this machine. */
  readonly path: string
}

const bundled = (kind: DatasetKind, file: string): BundledSource => ({
  kind,
  path: fileURLToPath(new URL(`../data/${file}`, import.meta.url))
})

/**
 * One source of each kind.
 *
 * @example
 * ```ts
 * import { bundledSources } from "sluice/directory"
 *
 * console.log(bundledSources.map(({ kind }) => kind)) // [ 'NANPA', 'CNAC', 'CARRIER_TYPES', 'NPA_REPORT' ]
 * ```
 */
export const bundledSources: ReadonlyArray<BundledSource> = [
  bundled("NANPA", "CoCodeAssignment_Utilized_AllStates_Public.txt.gz"),
  bundled("CNAC", "COCodeStatus_ALL.csv.gz"),
  bundled("CARRIER_TYPES", "ocn_carriers_joined.csv.gz"),
  bundled("NPA_REPORT", "npa_report.csv.gz")
]
