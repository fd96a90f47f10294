/**
 * Shows the checks of `/readyz` in `/metrics`, one series for each (docs/platform.md, 8.1 and 8.2). A check reports an
 * earlier finding, so looking at all of them costs no other system anything. Needs `Health`.
 */
import { Effect, Layer, Metric } from "effect"
import { superviseLoop } from "../common/superviseLoop.ts"
import { Health } from "./Health.ts"

/** How often the checks are shown; shorter than the interval of most scrapes. */
const showMillis = 5_000

const okGauge = (check: string) =>
  Metric.gauge("sluice_check_ok", {
    description: "1 while a part of `/readyz` is in order, by `check`",
    attributes: { check }
  })

const readyGauge = Metric.gauge("sluice_ready", { description: "1 while `/readyz` answers 200" })

/** Shows all checks once. A check that was removed is shown no more. */
const show = (shown: Set<string>) =>
  Effect.gen(function* () {
    const health = yield* Health
    const { checks, ready } = yield* health.readiness
    yield* Metric.update(readyGauge, ready ? 1 : 0)
    for (const [check, { ok }] of Object.entries(checks)) {
      yield* Metric.update(okGauge(check), ok ? 1 : 0)
      shown.add(check)
    }
    for (const check of shown) {
      if (check in checks) continue
      yield* Metric.remove(okGauge(check))
      shown.delete(check)
    }
  })

/** Shows the checks until the scope ends. */
export const layerHealthMetrics = Layer.effectDiscard(
  Effect.suspend(() => {
    const shown = new Set<string>()
    return show(shown).pipe(
      Effect.andThen(Effect.sleep(showMillis)),
      (once) => superviseLoop(once, { failed: "The checks could not be shown", retryMillis: showMillis }),
      Effect.forkScoped
    )
  })
)
