/**
 * Follows the replies of workers through an engine: a reply's stored command names its job, so that each decision upon it
 * is known as one of that job. The rules get the commands that they are defined for. Needs no service.
 */
import type { AnyActor } from "../../engine/Actor.ts"
import type { ErasedReply } from "../../engine/workers/workerTypes.ts"
import { boxedAnew } from "./boxedCommands.ts"

/** A command of a reply, on its way into the store. */
class JobCommand {
  readonly job: string
  readonly command: unknown

  constructor(job: string, command: unknown) {
    this.job = job
    this.command = command
  }
}

/** Its stored form. No command of a scenario has this name. */
interface StoredCommand {
  readonly $job: string
  readonly command: unknown
}

const isStored = (encoded: unknown): encoded is StoredCommand =>
  typeof encoded === "object" && encoded !== null && "$job" in encoded

/** The replies of the workers of a process. */
export class JobReplies {
  private readonly actors: () => ReadonlyMap<string, AnyActor>
  private readonly note: (command: object, job: string) => void

  /** `note` is called with each command that a reply is asked with, and the key of its job. */
  constructor(actors: () => ReadonlyMap<string, AnyActor>, note: (command: object, job: string) => void) {
    this.actors = actors
    this.note = note
  }

  /** Wraps an actor so that it takes commands of replies. */
  taking(actor: AnyActor): AnyActor {
    return {
      ...actor,
      encodeCommand: (command: unknown): unknown =>
        command instanceof JobCommand
          ? ({ $job: command.job, command: actor.encodeCommand(command.command) } satisfies StoredCommand)
          : actor.encodeCommand(command),
      decodeCommand: (encoded: unknown): unknown => {
        if (!isStored(encoded)) return actor.decodeCommand(encoded)
        const command = boxedAnew(actor.decodeCommand(encoded.command))
        this.note(command, encoded.$job)
        return command
      }
    }
  }

  /** A reply to the actors of this process. */
  watched(reply: ErasedReply): ErasedReply {
    return {
      ...reply,
      actor: this.actors().get(reply.actor.kind) ?? reply.actor,
      toCommand: (outcome, job) => {
        const meant = reply.toCommand(outcome, job)
        return meant && { ...meant, command: new JobCommand(job.key, meant.command) }
      }
    }
  }
}
