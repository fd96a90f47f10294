/** Variants of what one organization's webhooks take from another's: shares of places and memory, paces, answers without end, look-ups of names. */
import type { Finder, Variant } from "./runner/variant.ts"

const simulation: Finder = { kind: "deliveries" }

const unit = (...names: ReadonlyArray<string>): Finder => ({
  kind: "unit",
  files: names.map((name) => `test/webhooks/${name}.unit.ts`)
})

const servers = (...names: ReadonlyArray<string>): Finder => ({
  kind: "servers",
  files: names.map((name) => `test/webhooks/${name}.it.ts`)
})

const memory = unit("dispatcher/Dispatching", "dispatcher/DispatchQueue")

const src = (name: string) => `src/webhooks/${name}.ts`

const shares: ReadonlyArray<Variant> = [
  {
    name: "webhooks: an organization takes all that is free",
    file: src("dispatcher/shares"),
    find: "Math.ceil((capacity - used - own) / 2)",
    replace: "capacity - used",
    sentence: "the endpoints of one organization hold every place, and those of another wait for them",
    finders: [unit("dispatcher/shares", "dispatcher/DispatchQueue")]
  },
  {
    name: "webhooks: the organization with the most places is next",
    file: src("dispatcher/Turns"),
    find: "for (let own = 0; own < this.levels.length && mayHave(own); own++)",
    replace: "for (let own = this.levels.length - 1; own >= 0; own--) if (mayHave(own))",
    sentence: "an organization that keeps its places has as many turns as one that gives them back",
    finders: [memory]
  },
  {
    name: "webhooks: an endpoint takes the whole share of its organization",
    file: src("dispatcher/DispatchQueue"),
    find: "(total) => total < room,",
    replace: "() => room > 0,",
    sentence: "one slow endpoint holds up the others of its organization",
    finders: [memory, simulation]
  },
  {
    name: "webhooks: what hangs keeps its place",
    file: src("dispatcher/DispatchQueue"),
    find: '    slot.place = "overdue"\n',
    replace: '    this.shares.main.take(slot.queue.organizationId)\n    slot.place = "overdue"\n',
    sentence: "endpoints that hang hold the places of those that answer until their timeout",
    finders: [memory, simulation]
  },
  {
    name: "webhooks: what hangs has no bound",
    file: src("dispatcher/DispatchQueue"),
    find: "if (overdue.of(organizationId) >= mayHang) return undefined",
    replace: "if (mayHang < 0) return undefined",
    sentence: "an organization whose endpoints hang opens connections without end",
    finders: [memory]
  },
  {
    name: "webhooks: an organization fills the memory",
    file: src("delivery/matching"),
    find: "const lefts = [this.left, own]",
    replace: "const lefts = [this.left]",
    sentence: "what one organization's endpoints do not take leaves no room for the deliveries of another",
    finders: [unit("delivery/matching")]
  },
  {
    name: "webhooks: slow endpoints stay at one attempt",
    file: src("dispatcher/pace"),
    find: "durationMillis <= steadyFactor * expectedMillis && durationMillis <= growingMillis",
    replace: "durationMillis <= slowAfterMillis",
    sentence: "an endpoint that takes two seconds for each of many gets one at a time",
    finders: [unit("dispatcher/pace")]
  },
  {
    name: "webhooks: a queue at the endpoint makes it longer",
    file: src("dispatcher/pace"),
    find: "const isQueueing = durationMillis > queueingFactor * expectedMillis && inFlight <= limit",
    replace: "const isQueueing = durationMillis < 0 && inFlight <= limit",
    sentence: "an endpoint that works on one after the other runs into its timeout",
    finders: [unit("dispatcher/pace")]
  }
]

const answers: ReadonlyArray<Variant> = [
  {
    name: "webhooks: only bodies are counted",
    file: src("dispatcher/answerBytes"),
    find: "if (before <= maximumBytes && read > maximumBytes)",
    replace: "if (before < 0)",
    sentence: "a receiver that floods with interim answers or chunk extensions is read until its timeout",
    finders: [servers("dispatcher/answerBytes")]
  },
  {
    name: "webhooks: answers of a connection are counted together",
    file: src("dispatcher/answerBytes"),
    find: "          read = 0\n",
    replace: "",
    sentence: "a connection that is kept breaks after some answers",
    finders: [servers("dispatcher/answerBytes")]
  }
]

const names: ReadonlyArray<Variant> = [
  {
    name: "webhooks: look-ups have no places of their own",
    file: "src/common/places.ts",
    find: "({ own }) => own.withPermit(all.withPermit(organizationId)(work))",
    replace: "() => all.withPermits(organizationId, total)(work)",
    sentence: "the dead names of one organization hold up the look-ups of another",
    finders: [servers("target/names")]
  },
  {
    name: "webhooks: an old answer is not good while it is checked",
    file: src("target/names"),
    find: "if (known !== undefined && now < known.usableUntil) {",
    replace: "if (known !== undefined && now < known.freshUntil) {",
    sentence: "deliveries fail as soon as a name server is silent",
    finders: [servers("target/names")]
  }
]

export const webhooksFairness: ReadonlyArray<Variant> = [...shares, ...answers, ...names]
