/**
 * Boxes commands that are texts, numbers or null on their way through the engine, each in an object of its own: two
 * equal texts are one value, and the result of one would be mistaken for the other's. The rules get the values that
 * they are defined for. Needs no service.
 */
import type { AnyActor } from "../../engine/Actor.ts"
import type { ActorAddress } from "../../engine/address.ts"

class Boxed {
  readonly command: unknown

  constructor(command: unknown) {
    this.command = command
  }
}

/** The object of a command: itself if it is one. */
export const boxed = (command: unknown): object =>
  typeof command === "object" && command !== null ? command : new Boxed(command)

/** An object of a command's own, also of one that is an object. */
export const boxedAnew = (command: unknown): object => new Boxed(command)

/** The command in the form that its rule gets. */
export const unboxed = (command: unknown): unknown => (command instanceof Boxed ? command.command : command)

/** Wraps an actor so that it accepts boxed commands too. */
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
