/** Defines the bounds of talk (docs/platform.md, 10). */

/** Longest text of a request, in code points. */
export const maximumTextCharacters = 5_000

/** Range of the speed; 1 is the voice's own. */
export const minimumSpeed = 0.25
export const maximumSpeed = 4

/** Speeches that are made or sent at the same time, of all organizations and of one. Each may hold a whole WAV file. */
export const speechPlaces = { total: 6, ofOrganization: 3 }

/** Largest WAV file, which is held in memory because its header says its length. */
export const maximumWavBytes = 48 * 1024 * 1024

/** How long an engine may give no audio. */
export const silenceTimeoutMillis = 30_000

/** How long a whole WAV file may take. */
export const makingTimeoutMillis = 120_000

/** How long a speech may take until its last byte is sent; a connection that is slower is cut. */
export const speechTimeoutMillis = 300_000

/** How long an engine's offer is cached. */
export const offerMillis = 300_000

/** How long a program has to say what it can. */
export const probeTimeoutMillis = 10_000

/** Longest text of one request to a speech service, in code points. */
export const upstreamTextCharacters = 4_096

/** When a caller who found no place free may try again. */
export const placeRetryMillis = 1_000

/** Most bytes of an engine that come before its first audio, such as an ID3 tag with a picture. More of them are no audio. */
export const maximumBytesBeforeAudio = 1024 * 1024
