/** Defines the audio formats of talk (docs/platform.md, 10.4): their ids and content types. Pure. */

/** Ids of the formats; `ogg` holds Opus. */
export const formatIds = ["wav", "mp3", "ogg"] as const
export type FormatId = (typeof formatIds)[number]

export const contentTypes: Readonly<Record<FormatId, string>> = {
  wav: "audio/wav",
  mp3: "audio/mpeg",
  ogg: "audio/ogg"
}
