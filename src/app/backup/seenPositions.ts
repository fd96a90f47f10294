/** Reads the places of the logs that a database has seen: its checkpoints and the cursors of its reactors. Pure. */
import { outboxName } from "../../engine/outbox.ts"
import { witnessesOf } from "../../engine/shell/witnesses.ts"
import { projectionsName } from "../projectionsName.ts"
import type { BackupWitness } from "./backupManifest.ts"

export interface SeenCheckpoint {
  readonly partition: number
  readonly sequence: number
  readonly hash: string
}

export interface SeenCursor extends SeenCheckpoint {
  readonly reactor: string
}

/** Newest first, as `witnessesOf` expects them. */
export const checkpointsQuery =
  "select partition, sequence::float8 as sequence, hash from engine_checkpoints order by partition, sequence desc"

export const cursorsQuery =
  "select partition, reactor, sequence::float8 as sequence, hash from engine_cursors order by partition, reactor"

/** The witnesses of all partitions. */
export const seenBy = (
  partitions: number,
  checkpoints: ReadonlyArray<SeenCheckpoint>,
  cursors: ReadonlyArray<SeenCursor>
): ReadonlyArray<BackupWitness> =>
  Array.from({ length: partitions }, (_, partition) =>
    witnessesOf(
      checkpoints
        .filter((one) => one.partition === partition)
        .map((one) => ({ ...one, epoch: 0, number: 0, now: 0, signalSequence: 0 })),
      cursors.filter((one) => one.partition === partition),
      [{ name: projectionsName }, { name: outboxName }]
    ).map(({ hash, needsTail, sequence, who }): BackupWitness => ({ partition, who, sequence, hash, needsTail }))
  ).flat()
