/** Variants of webhook deliveries: rates of endpoints and headers of their own. */
import type { Finder, Variant } from "./runner/variant.ts"

const simulation: Finder = { kind: "deliveries" }

const unit = (...names: ReadonlyArray<string>): Finder => ({
  kind: "unit",
  files: names.map((name) => `test/webhooks/${name}.unit.ts`)
})

const rate = unit("dispatcher/rate")
const queue = unit("dispatcher/rates")
const headers = unit("endpoint/headers")

const src = (name: string) => `src/webhooks/${name}.ts`

const rates: ReadonlyArray<Variant> = [
  {
    name: "webhooks: an attempt counts for less than a second",
    file: src("dispatcher/rate"),
    find: "rateWindowMillis = 1_001",
    replace: "rateWindowMillis = 900",
    sentence: "a receiver gets more in a second than its owner has allowed",
    finders: [rate, simulation]
  },
  {
    name: "webhooks: what is starting takes no part of the rate",
    file: src("dispatcher/rate"),
    find: "const limit = rate - this.starting",
    replace: "const limit = rate",
    sentence: "attempts that wait for their secrets begin together, more than the rate allows",
    finders: [rate, queue]
  },
  {
    name: "webhooks: an attempt that was given up keeps its part of the rate",
    file: src("dispatcher/DispatchQueue"),
    find: "      queue.rate.gaveUp()\n",
    replace: "",
    sentence: "an endpoint whose secrets could not be read a few times gets nothing any more",
    finders: [queue]
  },
  {
    name: "webhooks: retries pass by the rate",
    file: src("dispatcher/DispatchQueue"),
    find: "const isStarting = queue.rateLimit !== null",
    replace: "const isStarting = queue.rateLimit !== null && lane !== jobLanes.retry",
    sentence: "a receiver that comes back gets all of its retries at once",
    finders: [queue, simulation]
  },
  {
    name: "webhooks: who waits for its rate is forgotten",
    file: src("dispatcher/DispatchQueue"),
    find: "      if (queue.heldUntil! <= now) this.letGo(queue)\n      else this",
    replace: "      this",
    sentence: "an endpoint that has used up its rate gets nothing any more",
    finders: [queue, simulation]
  },
  {
    name: "webhooks: who waits for its rate fills the memory",
    file: src("dispatcher/DispatchQueue"),
    find: "this.rateLimit === null ? window : Math.min(window, windowOfRate(this.rateLimit))",
    replace: "window",
    sentence: "what waits for the rate of one endpoint keeps deliveries of the organization's others out of memory",
    finders: [queue]
  },
  {
    name: "webhooks: a rate is forgotten with its worker",
    file: src("dispatcher/Rates"),
    find: "this.kept.set(endpointId, rate)",
    replace: "void endpointId",
    sentence: "a partition that leaves and comes back within a second doubles the rate",
    finders: [queue]
  }
]

const ofHeaders: ReadonlyArray<Variant> = [
  {
    name: "webhooks: a header may be reserved in capitals",
    file: src("endpoint/headers"),
    find: "if (isReserved(lower)) return",
    replace: "if (isReserved(name)) return",
    sentence: "an owner sets Content-Type, and receivers cannot read the delivery",
    finders: [headers]
  },
  {
    name: "webhooks: a header may have a line break",
    file: src("endpoint/headers"),
    find: "    if (!carried.test(value))\n",
    replace: "    if (value.length > maximumHeaderValueLength)\n",
    sentence: "no delivery of the endpoint can be sent",
    finders: [headers]
  },
  {
    name: "webhooks: replaced headers stay in the database",
    file: src("endpoint/model"),
    find: "  ...(headers === null ? [] : [headers.secretId])\n",
    replace: "",
    sentence: "values that their owner has removed are kept for ever",
    finders: [unit("delivery/matching")]
  }
]

export const webhooksRates: ReadonlyArray<Variant> = [...rates, ...ofHeaders]
