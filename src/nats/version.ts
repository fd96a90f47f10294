/** Decides which versions of nats-server are good enough, and why. Needs no service. */

/**
 * Oldest server the engine runs on. The fence needs error 10164 (2.11); what decides is durability: 2.12.3 is the first
 * release in which `SyncBlocks may lose pending writes` and `Filestore loses last seq on Compact/Purge` are fixed, and
 * the engine rests on synced writes and on the last sequence of streams that it purges (docs/architecture.md, rules 9
 * and 14).
 */
export const natsMinimum = "2.12.3"

/** The three numbers of a version such as `v2.14.0-RC.1`, as text; undefined for anything else. */
export const natsVersion = (text: string): string | undefined => /^v?(\d+\.\d+\.\d+)(?:[-+].*)?$/.exec(text)?.[1]

/** Whether a server's version is below the minimum. */
export const isOldNats = (version: string, minimum: string = natsMinimum): boolean => {
  const [actual, wanted] = [version, minimum].map((text) => (natsVersion(text) ?? "0.0.0").split(".").map(Number))
  for (let index = 0; index < 3; index++) {
    const difference = actual![index]! - wanted![index]!
    if (difference !== 0) return difference < 0
  }
  return false
}
