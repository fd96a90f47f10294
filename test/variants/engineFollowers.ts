/** Variants of what follows actors, lists keys, builds reactors' tables anew, and takes commands in. */
import { followers, src, unit } from "./engineFinders.ts"
import type { Variant } from "./runner/variant.ts"

export const engineFollowers: ReadonlyArray<Variant> = [
  {
    name: "followers: what does not fit a slow one is forgotten",
    file: src("shell/Followers"),
    find: "this.lose(undefined)",
    replace: "this.bytes = 0",
    sentence: "a slow follower of an actor's facts misses a thousand of them and does not know it",
    finders: [unit("following")]
  },
  {
    name: "followers: one goes on with the frame that it has seen",
    file: src("shell/following"),
    find: "sequence > after.sequence || (sequence === after.sequence && index > after.index)",
    replace: "sequence >= after.sequence",
    sentence: "a program that goes on where it stopped works on its last facts a second time",
    finders: [unit("following")]
  },
  {
    name: "followers: one that changes from the log to memory looks past what lies between",
    file: src("shell/following"),
    find: "const follower = partition.followers.add(this.followed, last, this.keeps, this.wakeup)",
    replace:
      "const follower = partition.followers.add(this.followed, last, this.keeps, this.wakeup)\n    this.sequence = last",
    sentence: "a program that goes on after a restart misses the facts that were stored while it was away",
    finders: [followers]
  },
  {
    name: "followers: a state is read once too little",
    file: src("shell/Followers"),
    find: "    this.hasNews = true\n",
    replace: "    this.hasNews = this.keeps\n",
    sentence: "a program that watches an actor is not shown its last state",
    finders: [followers]
  },
  {
    name: "followers: the log is read beyond where memory begins",
    file: src("shell/following"),
    find: "const last = this.attached === undefined ? place.last : Math.min(place.last, this.attached.follower.from)",
    replace: "const { last } = place",
    sentence: "a program that catches up while facts come gets some of them twice",
    finders: [unit("following"), followers]
  },
  {
    name: "followers: what was purged is passed over",
    file: src("shell/following"),
    find: "if (this.keeps) return yield* new FactsPurged",
    replace: "if (this.sequence < 0) return yield* new FactsPurged",
    sentence: "a program that was away for long misses facts that were purged, and is not told",
    finders: [unit("following"), followers]
  },
  {
    name: "followers: a state's changes that were purged are passed over",
    file: src("shell/following"),
    find: "if (this.sequence >= from) return news",
    replace: "if (this.sequence < 0) return news",
    sentence:
      "a program that watches an actor from afar is not shown its last state, where the log was purged meanwhile",
    finders: [unit("following"), followers]
  },
  {
    name: "followers: they outlive their engine",
    file: src("Engine"),
    find: "Effect.sync(() => parts.subscriptions.close())",
    replace: "Effect.void",
    sentence: "a stream of facts does not end with its engine",
    finders: [unit("following")]
  },
  {
    name: "keys: those that are over since the checkpoint are listed",
    file: src("shell/listing"),
    find: "if (changed.get(key) !== false) stored.push(key)",
    replace: "stored.push(key)",
    sentence: "an actor that is over is listed until the next checkpoint",
    finders: [unit("listing")]
  },
  {
    name: "keys: those since the checkpoint are left out",
    file: src("shell/listing"),
    find: "    known.add(key)\n",
    replace: "",
    sentence: "an actor that has just come into being is not listed",
    finders: [unit("listing")]
  },
  {
    name: "rebuilding: parked records stay parked",
    file: src("operator/rebuild"),
    find: "Effect.forEach(all, (partition) => dropParked(partition, reactor), { discard: true })",
    replace: "Effect.void",
    sentence: "a projection that is built anew lacks the organizations that had parked records",
    finders: [unit("reactors")]
  },
  {
    name: "rebuilding: a purged log is as good as a whole one",
    file: src("operator/rebuild"),
    find: `if (from === "beginning")`,
    replace: "if (firstSequence < 1)",
    sentence: "a projection that is built anew silently lacks what was purged",
    finders: [unit("reactors")]
  },
  {
    name: "rebuilding: a process that lacks a partition does it for the others",
    file: src("operator/rebuild"),
    find: `if (partition?.status._tag !== "Serving" || partition.log === undefined)`,
    replace: `if (partition?.status._tag !== "Serving" || partition.log === undefined) continue
    if (partition.id < 0)`,
    sentence: "a projection that is built anew by one of several processes loses what the others have",
    finders: [unit("reactors")]
  },
  {
    name: "simulation: equal commands are one",
    file: "src/simulation/boxed.ts",
    find: `typeof command === "object" && command !== null ? command : new Boxed(command)`,
    replace: "command as object",
    sentence: "the simulator blames a rule that takes texts for the answer to another command",
    finders: [{ kind: "unit", files: ["test/simulation/simulate.unit.ts"] }]
  },
  {
    name: "durable: a database is anybody's",
    file: "src/postgres/program.ts",
    find: "if (kinds.length > 0 && !program.kinds.some((kind) => kinds.includes(kind)))",
    replace: "if (program.kinds.length === 0)",
    sentence: "two programs that share a database write into one log",
    finders: [{ kind: "servers", files: ["test/nats/belonging.it.ts"] }]
  },
  {
    name: "durable: a namespace may be another one",
    file: "src/postgres/program.ts",
    find: "if (namespace !== own)",
    replace: "if (namespace.length > 64)",
    sentence: "a program that is started under another namespace is told that its log is lost",
    finders: [{ kind: "servers", files: ["test/nats/belonging.it.ts"] }]
  },
  {
    name: "commands: a value that the schema refuses is decided",
    file: src("service"),
    find: "return problem === undefined ? index :",
    replace: "return problem !== null ? index :",
    sentence: "a rule gets a command that its schema refuses",
    finders: [unit("engine")]
  }
]
