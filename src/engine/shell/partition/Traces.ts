/**
 * Links the spans that one request causes in a partition (docs/operating.md, "Traces"): many asks share a drain, and
 * many drains a reactor's transaction, so each names its causes by links. Kept while spans are collected. Needs no
 * service.
 */
import type { Tracer } from "effect"
import { BoundedMap } from "../../../common/BoundedMap.ts"
import type { Caller } from "../../core/actors/Organization.ts"

/** Frames whose spans are known. A reactor that lags further behind has no links. */
const maximumFrames = 1_024

/** Links of one span. */
const maximumLinks = 128

const linkTo = (span: Tracer.AnySpan): Tracer.SpanLink => ({ span, attributes: {} })

export class Traces {
  private readonly asks = new WeakMap<Caller, Tracer.AnySpan>()
  private readonly frames = new BoundedMap<number, Tracer.AnySpan>(maximumFrames)

  /** Notes the span in which a caller waits. */
  asked(caller: Caller, span: Tracer.AnySpan): void {
    this.asks.set(caller, span)
  }

  /** Links to the asks of these callers. */
  linksTo(callers: Iterable<Caller>): Array<Tracer.SpanLink> {
    const links: Array<Tracer.SpanLink> = []
    for (const caller of callers) {
      if (links.length === maximumLinks) break
      const span = this.asks.get(caller)
      if (span !== undefined) links.push(linkTo(span))
    }
    return links
  }

  /** Notes the span in which a frame was appended. */
  stored(sequence: number, span: Tracer.AnySpan): void {
    this.frames.set(sequence, span)
  }

  /** The span in which a frame was appended. */
  spanOf(sequence: number): Tracer.AnySpan | undefined {
    return this.frames.get(sequence)
  }

  /** Links to the drains that have stored these frames. */
  linksToFrames(sequences: Iterable<number>): Array<Tracer.SpanLink> {
    const links: Array<Tracer.SpanLink> = []
    for (const sequence of new Set(sequences)) {
      if (links.length === maximumLinks) break
      const span = this.frames.get(sequence)
      if (span !== undefined) links.push(linkTo(span))
    }
    return links
  }
}
