/**
 * Which answers of other processes count. An answer carries the epoch of the owner that gave it; one with a lower epoch than seen before comes
 * from a replaced owner and is ignored (docs/architecture.md, "Placement").
 */

/** How long a remote ask waits. Longer than an owner takes to say that an outcome is not known. */
export const remoteTimeoutMillis = 12_000

/** Sooner than for a partition that is away: its owner has most likely just moved. */
export const movedRetryMillis = 500

/** Reads a request or an answer. Throws on what is no JSON. */
export const parse = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString("utf8"))

/** Whether an answer counts. `epochs` remembers the highest epoch seen of each partition. */
export const accepts = (epochs: Map<number, number>, partition: number, reply: Uint8Array): boolean => {
  try {
    const { epoch } = parse(reply) as { readonly epoch?: unknown }
    if (typeof epoch !== "number" || epoch < (epochs.get(partition) ?? 0)) return false
    epochs.set(partition, epoch)
    return true
  } catch {
    return false
  }
}
