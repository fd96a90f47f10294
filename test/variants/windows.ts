/** Variants of windows and joins over event time. */
import type { Variant } from "./runner/variant.ts"

export const windows: ReadonlyArray<Variant> = [
  {
    name: "windows: a late event is dropped silently",
    find: "late.push(event) continue",
    replace: "continue",
    sentence: "a program does not hear of events that came too late",
    finders: ["eventWindows.unit"]
  },
  {
    name: "windows: the lateness is forgotten where events are judged",
    find: "event.at < watermark - latenessMillis",
    replace: "event.at < watermark",
    sentence: "events within the allowed lateness are in no window",
    finders: ["eventWindows.unit"]
  },
  {
    name: "windows: the watermark goes back",
    find: "if (watermark === null || reached > watermark)",
    replace: "if (watermark === null || reached !== watermark)",
    sentence: "an event out of order makes earlier ones on time that were late, and a window is closed twice",
    finders: ["eventWindows.unit"]
  },
  {
    name: "windows: a closed window stays open",
    find: "open.splice(0, open.length, ...open.filter(({ end }) => end > horizon))",
    replace: "",
    sentence: "a result is given twice",
    finders: ["eventWindows.unit", "windowedActors.unit"]
  },
  {
    name: "windows: closed windows come in any order",
    find: "open.filter(({ end }) => end <= horizon).sort(byEnd)",
    replace: "open.filter(({ end }) => end <= horizon).reverse()",
    sentence: "the results of two hours that are closed together are exchanged",
    finders: ["eventWindows.unit", "windowedActors.unit"]
  },
  {
    name: "windows: an event ahead of the clock is taken",
    find: "at - now > aheadMillis",
    replace: "at - now > Number.MAX_SAFE_INTEGER",
    sentence: "one false time from the future closes every window and makes all later events late",
    finders: ["eventWindows.unit", "windowedActors.unit"]
  },
  {
    name: "windows: a source that rests is woken too early",
    find: "seenAt + Math.max(isIdle ? 0 : idleMillis, firstEnd + latenessMillis - watermark)",
    replace: "seenAt + (isIdle ? 1 : idleMillis)",
    sentence: "a wake has nothing to close, and writes a fact all the same",
    finders: ["eventWindows.unit"]
  },
  {
    name: "windows: the clock counts a rest twice",
    find: "moved(state, watermark + elapsed, now, true)",
    replace: "moved(state, watermark + elapsed, seenAt, true)",
    sentence: "the watermark runs ahead of the clock, and events that are on time are late",
    finders: ["eventWindows.unit"]
  },
  {
    name: "tumbling: windows before their offset are missed",
    find: "Math.floor((at - offsetMillis) / stepMillis) * stepMillis + offsetMillis",
    replace: "Math.trunc((at - offsetMillis) / stepMillis) * stepMillis + offsetMillis",
    sentence: "an event before 1970 is in the window behind it",
    finders: ["eventWindows.unit"]
  },
  {
    name: "tumbling: the bound of open windows is not kept",
    find: "if (open.length >= most) return openRefusal(most) open.splice(index,",
    replace: "open.splice(index,",
    sentence: "the state of an actor grows until the engine refuses it",
    finders: ["eventWindows.unit"]
  },
  {
    name: "hopping: an event at the end of a window counts in it",
    find: "Math.floor((last + sizeMillis - 1 - at) / stepMillis)",
    replace: "Math.floor((last + sizeMillis - at) / stepMillis)",
    sentence: "an event is in one window too many",
    finders: ["eventWindows.unit"]
  },
  {
    name: "hopping: a window between two others is opened twice",
    find: "if (known?.start === start && known.end === end)",
    replace: "if (known?.start === start && known.end === end && index === open.length - 1)",
    sentence: "events of a window are torn apart into two results",
    finders: ["eventWindows.unit", "windowedActors.unit"]
  },
  {
    name: "session: an event joins the later of two sessions alone",
    find: "while (from > 0 && (open[from - 1]?.end ?? 0) > at) from--",
    replace: "if (from > 0 && (open[from - 1]?.end ?? 0) > at) from--",
    sentence: "two sessions stay apart although an event is between them",
    finders: ["eventWindows.unit"]
  },
  {
    name: "session: an earlier event cuts a session short",
    find: "reached.reduce((latest, one) => Math.max(latest, one.end), at + gapMillis)",
    replace: "at + gapMillis",
    sentence: "a session ends before its last event",
    finders: ["eventWindows.unit"]
  },
  {
    name: "session: a session has no longest time",
    find: "if (span > spanMillis)",
    replace: "if (span > Number.MAX_SAFE_INTEGER)",
    sentence: "a source that never rests has one session for ever",
    finders: ["eventWindows.unit"]
  },
  {
    name: "tables: an earlier change that comes later counts",
    find: "if (isKnown && known.at > entry.at)",
    replace: "if (isKnown && known.at > entry.at + 1e15)",
    sentence: "an old price takes the place of the present one",
    finders: ["latestTable.unit", "windowedActors.unit"]
  },
  {
    name: "tables: a table takes more keys than it may",
    find: "if (!isKnown && state.entries.length >= maximumKeys)",
    replace: "if (!isKnown && state.entries.length > maximumKeys)",
    sentence: "the bound of a table is not kept",
    finders: ["latestTable.unit"]
  },
  {
    name: "tables: a removed key is forgotten at once",
    find: "entries.splice(place, isKnown ? 1 : 0, entry)",
    replace:
      'if ("value" in entry) entries.splice(place, isKnown ? 1 : 0, entry); else if (isKnown) entries.splice(place, 1)',
    sentence: "an earlier change that comes later brings a removed value back",
    finders: ["latestTable.unit"]
  }
]
