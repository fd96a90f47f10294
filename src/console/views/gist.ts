/** Summarizes an event in one line. */
import type { LiveEvent } from "../live.ts"

const wanted = [
  "subject",
  "recipient",
  "to",
  "url",
  "reason",
  "tn",
  "sender",
  "name",
  "source",
  "message",
  "plan",
  "status",
  "id"
]

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : Array.isArray(value) ? value.join(", ") : ""

export const gistOf = ({ data }: Pick<LiveEvent, "data">): string => {
  const parts = wanted.flatMap((name) => {
    const text = textOf(data[name])
    return text === "" ? [] : [text]
  })
  return parts.slice(0, 3).join(" · ")
}
