/**
 * Names the shards of effect/cluster that represent partitions. A name decides the shard of an entity, so this searches
 * names until every partition has a shard to itself; each node finds the same ones. All shards are in one group: groups
 * are spread separately, and a group of one shard always goes to the same node.
 */

/** The partition of a shard: shards are counted from 1. */
export const partitionOfShard = ({ id }: { readonly id: number }): number => id - 1

/** The name for each partition, such that `shardOf(name)` is its number. `shardOf` answers 0 to `partitions - 1`. */
export const shardNames = (partitions: number, shardOf: (name: string) => number): ReadonlyArray<string> => {
  const names = new Array<string>(partitions)
  for (let salt = 0, left = partitions; left > 0; salt++) {
    const name = `partition ${salt}`
    const shard = shardOf(name)
    if (shard < 0 || shard >= partitions) throw new Error(`${name} is placed on shard ${shard} of ${partitions}`)
    if (names[shard] !== undefined) continue
    names[shard] = name
    left--
  }
  return names
}
