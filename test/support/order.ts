/** The order of a run: what takes longest begins first, so that no worker is left with a long file while the others have nothing to do. */
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** The kinds of tests, those that wait longest first. */
const kinds = ["e2e", "it", "sim", "unit"]

const rankOf = ({ project }: TestSpecification): number => kinds.indexOf(project.name)

export class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    // Within a kind as vitest itself does: by what the last run took, where there was one, otherwise by size.
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other))
  }
}
