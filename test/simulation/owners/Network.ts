/**
 * The asks between the nodes of a simulation: every subscribed owner gets every request, as with a message server, and messages are lost, late or
 * delivered twice. Needs no service.
 */
import { Duration, Effect, FiberSet } from "effect"
import { Remote, RemoteUnavailable } from "../../../src/engine/ports/Remote.ts"
import type { OwnersSimulation } from "./OwnersSimulation.ts"
import type { SimulatedNode } from "./SimulatedNode.ts"

/** How long a late message takes, milliseconds. */
const lateMillis = [50, 4_000] as const

/** How long an owner that goes has to answer what it was asked. */
const farewellMillis = 1_000

interface Subscription {
  readonly node: SimulatedNode
  /** When it ended. */
  goneAt: number
  readonly take: (payload: Uint8Array, reply: (bytes: Uint8Array) => void) => void
}

export class Network {
  private readonly simulation: OwnersSimulation
  private readonly subscriptions = new Map<number, Set<Subscription>>()
  /** Until when a node is cut off, by its name. */
  private readonly cuts = new Map<string, number>()

  constructor(simulation: OwnersSimulation) {
    this.simulation = simulation
  }

  cut(node: SimulatedNode, millis: number): void {
    this.cuts.set(node.name, this.simulation.world.now + millis)
  }

  heal(): void {
    this.cuts.clear()
  }

  private isCut({ name }: SimulatedNode): boolean {
    return (this.cuts.get(name) ?? 0) > this.simulation.world.now
  }

  /** Brings a message to a node, as often and as late as the plan says. */
  private send(
    of: "request" | "reply",
    from: SimulatedNode,
    to: SimulatedNode,
    arrive: (isLate: boolean) => void
  ): void {
    const { draw, faults, latency, world } = this.simulation
    const fault = faults.take(of)
    const usual = () => (from === to ? 0.01 : latency())
    const after = (millis: number, isLate = false) =>
      world.after(millis, to.process, () => {
        if (!this.isCut(from) && !this.isCut(to)) arrive(isLate)
      })
    if (fault === "lost") return
    if (fault === "late") after(draw.int(...lateMillis), true)
    else after(usual())
    if (fault === "repeated") after(usual())
    if (fault === "repeated late") after(draw.int(...lateMillis), true)
  }

  /** A node's way to the others. */
  of(node: SimulatedNode): Remote["Service"] {
    const { faults, latency, marks, world } = this.simulation
    const request: Remote["Service"]["request"] = (partition, payload, { accept, timeoutMillis }) =>
      Effect.callback((resume) => {
        let isOver = false
        const finish = (result: Effect.Effect<Uint8Array, RemoteUnavailable>) => {
          if (isOver) return
          isOver = true
          cancel()
          resume(result)
        }
        const fail = (message: string, sent: boolean) => finish(Effect.fail(new RemoteUnavailable({ message, sent })))
        const cancel = world.after(timeoutMillis, node.process, () => fail("simulated: no answer", true))
        world.after(latency(), undefined, () => {
          if (this.isCut(node)) return
          const asked = [...(this.subscriptions.get(partition) ?? [])].filter((one) => one.node.process.alive)
          if (asked.length > 1) marks.reach("a request reached two owners")
          if (asked.length === 0)
            world.after(latency(), node.process, () => fail(`nobody serves partition ${partition}`, false))
          const bring = (one: Subscription) =>
            one.take(payload, (bytes) =>
              this.send("reply", one.node, node, () => {
                if (!isOver && accept(bytes)) finish(Effect.succeed(bytes))
              })
            )
          for (const one of asked)
            this.send("request", node, one.node, (isLate) => {
              const subscribed = [...(this.subscriptions.get(partition) ?? [])]
              // What a node had received when it gave the subscription up is still worked on.
              if (isLate && world.now - one.goneAt < farewellMillis) bring(one)
              // One that was long on its way reaches whoever is subscribed when it comes.
              for (const other of subscribed) if (other === one || (isLate && other.node.process.alive)) bring(other)
            })
        })
        return Effect.sync(() => {
          isOver = true
          cancel()
        })
      })

    const serve: Remote["Service"]["serve"] = (partition, handle, of) =>
      Effect.gen({ self: this }, function* () {
        // No operator is about.
        if (of === "operators") return
        if (faults.take("serve") === "fails")
          return yield* new RemoteUnavailable({ message: "simulated: no subscription", sent: false })
        const fibers = yield* FiberSet.make<void>()
        const run = yield* FiberSet.runtime(fibers)<never>()
        const subscription: Subscription = {
          node,
          goneAt: Number.NEGATIVE_INFINITY,
          take: (payload, reply) => void run(Effect.map(handle(payload, reply), reply))
        }
        const subscribed = this.subscriptions.get(partition) ?? new Set()
        this.subscriptions.set(partition, subscribed)
        yield* Effect.acquireRelease(
          Effect.sync(() => void subscribed.add(subscription)),
          () =>
            Effect.sync(() => {
              subscribed.delete(subscription)
              subscription.goneAt = world.now
            }).pipe(Effect.andThen(Effect.timeoutOption(FiberSet.awaitEmpty(fibers), Duration.millis(farewellMillis))))
        )
      })
    return Remote.of({ request, serve })
  }
}
