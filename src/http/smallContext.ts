/**
 * Keeps the contexts of requests small. A group of an API gives each request the context in which its layer was built,
 * and a server the one in which it was started. Both are copied entry by entry for every request, and in the platform
 * they hold every service of the process. These functions build a layer with only the services it needs and the
 * runtime's own settings (loggers, tracer, clock).
 */
import { Clock, Context, Effect, Layer, Metric, Random, References, Tracer } from "effect"

const settings: ReadonlySet<string> = new Set([
  ...Object.values(References).map(({ key }) => key),
  Clock.Clock.key,
  Metric.CurrentMetricAttributes.key,
  Metric.MetricRegistry.key,
  Random.Random.key,
  Tracer.ParentSpan.key,
  Tracer.Tracer.key
])

/** The runtime's own settings of a context, and no service. */
export const settingsOf = (context: Context.Context<never>): Context.Context<never> =>
  Context.makeUnsafe(new Map([...context.mapUnsafe].filter(([key]) => settings.has(key))))

/** Builds the layer with only the services of these keys. Any other service is missing at its start. */
export const builtWithKeys =
  (keys: ReadonlyArray<string>) =>
  <A, E, R>(layer: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> => {
    const kept = new Set([...keys, ...settings])
    return Layer.fromBuild((memoMap, scope) =>
      Effect.updateContext(Layer.buildWithMemoMap(layer, memoMap, scope), (context: Context.Context<R>) =>
        Context.makeUnsafe<R>(new Map([...context.mapUnsafe].filter(([key]) => kept.has(key))))
      )
    )
  }

/** Builds the layer with only these services. */
export const builtWith =
  <const Services extends ReadonlyArray<{ readonly key: string; readonly Identifier: unknown }>>(
    ...services: Services
  ) =>
  <A, E>(layer: Layer.Layer<A, E, Services[number]["Identifier"]>): Layer.Layer<A, E, Services[number]["Identifier"]> =>
    builtWithKeys(services.map(({ key }) => key))(layer)
