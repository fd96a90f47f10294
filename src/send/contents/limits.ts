/** Bounds of kept contents (docs/handoff.md, 1). */

/** Contents that the layer in memory keeps; it drops none, and refuses more. */
export const maximumMemoryContents = 100_000
