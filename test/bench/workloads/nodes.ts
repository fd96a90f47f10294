/**
 * Durable decisions on one node or on several that share the partitions: each node an engine of its own with its own connections, as `sluice/durable` makes it,
 * asked in turn by callers who do not know who has what. All are in this process, so that its CPU is that of all nodes.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Context, Effect, Layer } from "effect"
import * as Durable from "../../../src/durable.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import { type ClosedLoad, type ClosedSample, closedLoop } from "./closedLoop.ts"
import { admit, organizationOf, Sender } from "./mail.ts"
import { startServers } from "./servers.ts"
import { serveWorkload } from "./workload.ts"

export interface NodesLoad extends ClosedLoad {
  readonly nodes: number
  readonly partitions: number
}

export interface NodesSample extends ClosedSample {
  /** The share of asks that came to another node than the one that decided them. */
  readonly crossed: number
}

type Node = Engine["Service"]

const serving = (node: Node) =>
  Effect.map(
    node.status,
    (found) => new Set(found.filter(({ status }) => status._tag === "Serving").map(({ partition }) => partition))
  )

/** How often it is looked whether the partitions are spread. */
const lookMillis = 200

/** Waits until each node has some of the partitions, and together all of them. Answers who has what. */
const spread = Effect.fnUntraced(function* (nodes: ReadonlyArray<Node>, partitions: number) {
  while (true) {
    const own = yield* Effect.forEach(nodes, serving)
    if (own.every(({ size }) => size > 0) && new Set(own.flatMap((all) => [...all])).size === partitions) return own
    yield* Effect.sleep(lookMillis)
  }
})

serveWorkload((load: NodesLoad & { readonly dataFolder: string }) =>
  Effect.gen(function* () {
    const servers = yield* startServers(load.dataFolder)
    const options = { actors: [Sender], config: { partitions: load.partitions } }
    const nodes: Array<Node> = []
    for (let number = 0; number < load.nodes; number++) {
      const placement = load.nodes === 1 ? "machine" : ({ node: `node-${number}` } as const)
      const made = yield* Layer.build(Durable.layer(options, { ...servers, placement }))
      nodes.push(Context.get(made, Engine))
    }
    const own = yield* spread(nodes, load.partitions)
    let number = 0
    let crossed = 0
    const ask = (caller: number) => {
      const at = ++number % nodes.length
      const organization = organizationOf(caller)
      if (!own[at]!.has(nodes[at]!.partitionOf(organization))) crossed++
      return Effect.orDie(nodes[at]!.ask(Sender, { organization }, admit(number)))
    }
    const measureLoop = yield* closedLoop(load, ask)
    const measure = async (): Promise<NodesSample> => {
      const begun = { number, crossed }
      const sample = await measureLoop()
      return { ...sample, crossed: (crossed - begun.crossed) / (number - begun.number) }
    }
    return { measure }
  })
)
