/** Defines the names and signs of states. */

export type Tone = "good" | "bad" | "warn" | "idle" | "busy"

const tones: Readonly<Record<Tone, ReadonlyArray<string>>> = {
  good: [
    "active",
    "succeeded",
    "delivered",
    "sent",
    "verified",
    "trusted",
    "established",
    "ok",
    "paid",
    "ready",
    "serving",
    "pass",
    "ends"
  ],
  bad: [
    "failed",
    "bounced",
    "complained",
    "paused",
    "sending_paused",
    "past_due",
    "stopped",
    "void",
    "uncollectible",
    "not_ready",
    "missing",
    "invalid",
    "bad",
    "revoked"
  ],
  warn: [
    "held",
    "failing",
    "probation",
    "pending",
    "partially_failed",
    "open",
    "suppressed",
    "retrying",
    "expired",
    "skipped",
    "warming",
    "advice",
    "degraded"
  ],
  idle: ["disabled", "cancelled", "canceled", "draft", "new", "none", "notowned", "closed", "test"],
  busy: ["queued", "scheduled", "sending", "starting", "live", "connecting", "trialing", "clockbehind"]
}

const toneByState = new Map(
  Object.entries(tones).flatMap(([tone, states]) => states.map((state) => [state, tone as Tone] as const))
)

export const toneOf = (state: string): Tone => toneByState.get(state.toLowerCase()) ?? "idle"

/** `sending_paused` as people write it. */
export const wordOf = (state: string): string => {
  const text = state.replaceAll("_", " ")
  return text.charAt(0).toUpperCase() + text.slice(1)
}
