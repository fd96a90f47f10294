/**
 * Puts the fast lane before a server's listeners for as long as a scope lasts. It is omitted when each request must
 * appear in an access log or in collected spans, which only the general path writes.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { FindMyWay } from "effect/http"
import type { HttpApi } from "effect/http-api"
import { isTraced } from "../../common/isTraced.ts"
import { CurrentLoadShedder } from "../LoadShedder.ts"
import { RequestMeter } from "../RequestMeter.ts"
import { CurrentRetryGrowth } from "../RetryGrowth.ts"
import { settingsOf } from "../smallContext.ts"
import { Connections } from "./Connections.ts"
import { EarlyRefusal, refusedRoute } from "./EarlyRefusal.ts"
import { makeFastLane } from "./FastLane.ts"
import type { FrontedServer } from "./FrontedServer.ts"
import { compileRoutes } from "./routes.ts"

export interface FastLaneOptions {
  readonly server: FrontedServer
  readonly routerConfig: Partial<FindMyWay.RouterConfig>
  readonly extraRoutes: ReadonlyArray<readonly [method: string, path: string]>
  readonly maxBodyBytes: number
}

/** The fast lane of an API whose groups and middlewares are in the context. */
export const layerFastLane = (api: HttpApi.Constraint, options: FastLaneOptions): Layer.Layer<never> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const context = yield* Effect.context<never>()
      if (isTraced(context)) return
      const { extraRoutes, maxBodyBytes, routerConfig, server } = options
      const meter = RequestMeter.of(context)
      const routes = compileRoutes(api, { context, routerConfig, extraRoutes, meter })
      if (routes.isEmpty) return
      const shared = {
        clock: Context.get(context, Clock.Clock),
        growth: Context.get(context, CurrentRetryGrowth),
        shedder: Context.get(context, CurrentLoadShedder)
      }
      const early = new EarlyRefusal({
        ...shared,
        accessAt: routes.accessAt,
        seriesOf: (method) => meter.series(method, refusedRoute)
      })
      const own = { context: settingsOf(context), maxBodyBytes, connections: new Connections() }
      const lane = makeFastLane(routes, { ...shared, ...own }, early)
      server.front = lane.answer
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          server.front = undefined
          lane.stop()
        })
      )
    })
  )
