/**
 * Commands that are texts, numbers or null, each in an object of its own on its way through the engine: two texts that are equal are one value, and what
 * became of one would be taken for the other's. The rules get what they are defined for. Needs no service.
 */
import type { AnyActor } from "../../engine/Actor.ts"
import type { ActorAddress } from "../../engine/address.ts"

class Boxed {
  readonly command: unknown

  constructor(command: unknown) {
    this.command = command
  }
}

/** An object that stands for a command, itself where it is one. */
export const boxed = (command: unknown): object =>
  typeof command === "object" && command !== null ? command : new Boxed(command)

/** The command as its rule is asked it. */
export const unboxed = (command: unknown): unknown => (command instanceof Boxed ? command.command : command)

/** The same actor, which takes its commands in boxes too. */
export const takingBoxed = (actor: AnyActor): AnyActor => {
  const { decide, touches } = actor.options
  return {
    ...actor,
    commandProblem: (command) => actor.commandProblem(unboxed(command)),
    encodeCommand: (command) => actor.encodeCommand(unboxed(command)),
    options: {
      ...actor.options,
      decide: (state, command, context) => decide(state, unboxed(command), context),
      ...(touches === undefined
        ? {}
        : { touches: (command: unknown, self: ActorAddress) => touches(unboxed(command), self) })
    }
  }
}
