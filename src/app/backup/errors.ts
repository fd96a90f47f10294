/** Lists the failures of backups, each with a sentence for the operator. */
import { Data } from "effect"

/** A backup cannot be made, read or restored. The message says why, and what to do. */
export class BackupRefused extends Data.TaggedError("BackupRefused")<{ readonly message: string }> {}

/** Problems that a sentence names; the others are counted. */
const shownProblems = 20

/** Files of a backup are missing, cut or changed, or its two halves do not fit. Each problem is a sentence. */
export class BackupBroken extends Data.TaggedError("BackupBroken")<{
  readonly id: string
  readonly problems: ReadonlyArray<string>
}> {
  override get message(): string {
    const { id, problems } = this
    const shown = problems.slice(0, shownProblems).map((problem) => `\n  ${problem}`)
    const more = problems.length > shownProblems ? `\n  and ${problems.length - shownProblems} more` : ""
    return `The backup ${id} is not whole. Make a new one with sluice backup --full, which uses none of its files, or try an earlier one with --at:${shown.join("")}${more}`
  }
}
