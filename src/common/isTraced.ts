/** Tells whether spans made under a context are recorded. Needs no service. */
import { Context, References, Tracer } from "effect"

/** False where tracing is off, or where spans go to effect's own tracer, which shows them to nobody. */
export const isTraced = (context: Context.Context<never>): boolean =>
  Context.get(context, References.TracerEnabled) && Context.get(context, Tracer.Tracer) !== Tracer.nativeTracer
