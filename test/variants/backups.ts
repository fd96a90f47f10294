/** Variants of backups and restores. */
import type { Variant } from "./runner/variant.ts"

export const backups: ReadonlyArray<Variant> = [
  {
    name: "backups: a pair that does not fit is one all the same",
    find: "const lacks = pairLacks(manifest)\n  if (lacks.length > 0)",
    replace: "const lacks = pairLacks(manifest)\n  if (lacks.length > 1_000)",
    sentence: "a backup without one of the logs looks complete, and is refused by the start after its restore",
    finders: ["cli/backup.e2e"]
  },
  {
    name: "backups: a log that ends early fits",
    find: "witnesses.filter(({ sequence }) => sequence === seen && sequence > last)[0]",
    replace: "witnesses.filter(({ sequence }) => sequence === seen && sequence > last + 1_000)[0]",
    sentence: "a backup whose log was copied before its tables looks whole",
    finders: ["backupRules.unit"]
  },
  {
    name: "backups: segments of another stream of the same name are used again",
    find: "earlier.created === created",
    replace: "earlier.created !== undefined",
    sentence: "a backup after a stream was created again has frames of the one before",
    finders: ["backupRules.unit"]
  },
  {
    name: "backups: segments of a stream with holes are used again",
    find: "earlier.isWhole && isWhole && earlier.last <= last",
    replace: "earlier.last <= last",
    sentence: "a restore brings back messages that were removed one by one",
    finders: ["backupRules.unit"]
  },
  {
    name: "backups: files of kept backups go with removed ones",
    find: "newestFirst.slice(0, count).flatMap(({ files }) => files)",
    replace: "newestFirst.slice(0, count).flatMap(({ files, id }) => files.filter((file) => file.startsWith(id)))",
    sentence: "an incremental backup loses the segments of the one that it continues",
    finders: ["backupRules.unit"]
  },
  {
    name: "backups: frames that are purged while they are read leave a hole",
    find: "let expected = kept.length > 0 ? from : undefined",
    replace: "let expected = undefined as number | undefined; void kept; void from",
    sentence: "an incremental backup of a log that was purged meanwhile cannot be restored",
    finders: ["backupRules.unit"]
  },
  {
    name: "backups: the last chunk of a file is like the others",
    find: "nonce[nonceBytes - 1] = isLast ? 1 : 0",
    replace: "nonce[nonceBytes - 1] = 0",
    sentence: "a file that is cut between two chunks looks whole",
    finders: ["sealedFile.it"]
  },
  {
    name: "backups: a file opens under any name",
    find: "`sluice backup file\\n${name}`",
    replace: '"sluice backup file"',
    sentence: "a file of one table can be put in the place of another one",
    finders: ["sealedFile.it"]
  },
  {
    name: "backups: a manifest is believed",
    find: "seal.length !== wanted.length || !timingSafeEqual(seal, wanted)",
    replace: "seal.length !== wanted.length",
    sentence: "counts and positions of a manifest can be changed",
    finders: ["backupManifest.unit"]
  },
  {
    name: "backups: segments are not verified",
    find: "const problem = await readWhole(place, segment, follow(segment))",
    replace: "const problem = undefined as string | undefined; void follow",
    sentence: "a backup whose log has lost a file is called whole",
    finders: ["verifyBackup.it"]
  },
  {
    name: "backups: frames are not compared with what the database has seen",
    find: "witness !== undefined && hashOf(data) !== witness.hash",
    replace: "witness !== undefined && hashOf(data) === undefined",
    sentence: "a log of another deployment beside the database is called whole",
    finders: ["verifyBackup.it"]
  },
  {
    name: "backups: fillers stay",
    find: "if (hasFillers) yield*",
    replace: "if (hasFillers && first < 0) yield*",
    sentence: "a restored stream has messages that were removed before the backup",
    finders: ["streamRestore.it"]
  },
  {
    name: "backups: headers that direct the server are obeyed again",
    find: ': !lower.startsWith("nats-")',
    replace: ": true",
    sentence: "a restored message tells the server again what it told it once, such as the id of the message before it",
    finders: ["streamRestore.it"]
  },
  {
    name: "backups: a store that has data is filled",
    find: "if (row!.isUsed)",
    replace: "if (row === undefined)",
    sentence: "a restore into the wrong database replaces its data",
    finders: ["emptyStores.it"]
  }
]
