/** Variants of the log, the signals and the questions on NATS. */
import type { Finder, Variant } from "./runner/variant.ts"

const servers = (...files: ReadonlyArray<string>): Finder => ({
  kind: "servers",
  files: files.map((file) => `test/nats/${file}.it.ts`)
})

const unit = (...files: ReadonlyArray<string>): Finder => ({
  kind: "unit",
  files: files.map((file) => `test/nats/${file}.unit.ts`)
})

export const journal: ReadonlyArray<Variant> = [
  {
    name: "journal: any failure to store counts as full",
    file: "src/nats/publishAnswers.ts",
    find: "const limitReached = errorCode === errorCodes.storeFailed && /^maximum (bytes|messages)/.test(description)",
    replace: "const limitReached = errorCode === errorCodes.storeFailed",
    sentence:
      "a frame that may have been stored counts as surely not stored, because a disk that fails looks like a full log",
    finders: [unit("publishAnswers"), servers("journal")]
  },
  {
    name: "journal: a reader skips what is missing",
    file: "src/nats/JournalJetStream.ts",
    find: "if (sequence !== next || next > through) break",
    replace: "if (next > through) break",
    sentence: "a partition recovers past a frame that is not there, and loses its facts",
    finders: [servers("journal")]
  },
  {
    name: "signals: the last one is taken again",
    file: "src/nats/SignalsJetStream.ts",
    find: "from: after + 1",
    replace: "from: after",
    sentence: "the last signal before a restart counts twice",
    finders: [servers("signals")]
  },
  {
    name: "signals: room is made for all partitions",
    file: "src/nats/SignalsJetStream.ts",
    find: "(partition)}>`, seq: through + 1 }",
    replace: "(partition).slice(0, -1 - String(partition).length)}>`, seq: through + 1 }",
    sentence: "a partition that has processed its signals removes those that others have not",
    finders: [servers("signals")]
  },
  {
    name: "remote: a lost connection counts as not sent",
    file: "src/nats/RemoteNats.ts",
    find: 'cause.reason === "timeout" || cause.reason === "disconnected"',
    replace: 'cause.reason === "timeout"',
    sentence: "a caller is told that nothing was stored although the owner may have decided",
    finders: [servers("remote")]
  }
]
