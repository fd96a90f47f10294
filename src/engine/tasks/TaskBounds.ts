/**
 * Bounds the tasks of a process that are not recorded yet, over all partitions, in number and in characters of their
 * payloads (docs/architecture.md, rule 11). Organizations share both, so that the tasks of one that nobody answers leave
 * room for the others. While the store hangs, tasks go on until this bound. Needs no service.
 */
import { Shares } from "../../common/Shares.ts"

/** Most tasks of a kind that a process keeps until they are recorded, and most characters of their payloads. */
export const maximumTasks = 65_536
export const maximumTaskCharacters = 64 * 1024 * 1024

export class TaskBounds {
  private readonly tasks: Shares
  private readonly characters: Shares

  constructor(tasks = maximumTasks, characters = maximumTaskCharacters) {
    this.tasks = new Shares(tasks)
    this.characters = new Shares(characters)
  }

  /** The tasks that are kept. */
  get used(): number {
    return this.tasks.used
  }

  /** Takes room for a task; false where its organization has none. */
  take(organization: string, characters: number): boolean {
    if (this.tasks.roomOf(organization) <= 0 || this.characters.roomOf(organization) < characters) return false
    this.tasks.take(organization)
    this.characters.take(organization, characters)
    return true
  }

  /** Gives the room of a task back. */
  give(organization: string, characters: number): void {
    this.tasks.give(organization)
    this.characters.give(organization, characters)
  }
}
