/**
 * Makes the two layers of a library service that answers for each key: one that keeps its keys in this process, and one
 * that keeps them on an engine. Each service of `sluice/limits` and `sluice/send` is made so. Needs nothing.
 */
import { type Context, Effect, Layer } from "effect"
import type { Engine } from "../engine/EngineService.ts"
import { attempt } from "./attempt.ts"
import type { InvalidArgument } from "./errors.ts"

/** The layers of a service whose methods are made of `Asks`. */
export interface KeyedLayers<Asks, MemoryOptions, EngineOptions, EngineError> {
  /** Fails for options outside their range. */
  readonly layerMemory: <Self, Shape>(
    service: Context.Key<Self, Shape>,
    options: MemoryOptions,
    make: (asks: Asks) => Shape
  ) => Layer.Layer<Self, InvalidArgument>
  readonly layer: <Self, Shape>(
    service: Context.Key<Self, Shape>,
    options: EngineOptions,
    make: (asks: Asks) => Shape
  ) => Layer.Layer<Self, EngineError, Engine>
}

/** @param inMemory throws `InvalidArgument` for options outside their range */
export const keyedLayers = <Asks, MemoryOptions, EngineOptions, EngineError>(
  inMemory: (options: MemoryOptions) => Asks,
  onEngine: (options: EngineOptions) => Effect.Effect<Asks, EngineError, Engine>
): KeyedLayers<Asks, MemoryOptions, EngineOptions, EngineError> => ({
  layerMemory: (service, options, make) =>
    Layer.effect(
      service,
      Effect.suspend(() => attempt(() => make(inMemory(options))))
    ),
  layer: (service, options, make) => Layer.effect(service, Effect.map(onEngine(options), make))
})
