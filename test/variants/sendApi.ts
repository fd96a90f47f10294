/** Variants of the API that takes email: what is read of a request, what is repeated, what counts, what rows say. */
import type { Finder, Variant } from "./runner/variant.ts"

const unit = (...files: ReadonlyArray<string>): Finder => ({
  kind: "unit",
  files: files.map((file) => `test/send/${file}.unit.ts`)
})

const reading = unit("emails/readMessage", "emails/addresses")
const sending: Finder = { kind: "servers", files: ["test/send/http/sending.it.ts"] }
const rows: Finder = { kind: "servers", files: ["test/send/emails/projection.it.ts"] }

export const sendApi: ReadonlyArray<Variant> = [
  {
    name: "emails: a preview is a decision",
    file: "src/send/actors/admitting.ts",
    find: 'return decision.accepted ? Actor.rejected({ _tag: "Acceptable" }) : decision',
    replace: "return decision",
    sentence: "a request is accepted before its content is kept",
    finders: [unit("actors/preview")]
  },
  {
    name: "emails: a line may end in a header",
    file: "src/send/emails/texts.ts",
    find: "/[\\p{Cc}\\p{Zl}\\p{Zp}\\p{Cs}]/u",
    replace: "/[\\0\\p{Zl}\\p{Zp}\\p{Cs}]/u",
    sentence: "whoever writes a subject adds headers and recipients to an email",
    finders: [reading]
  },
  {
    name: "emails: a line may end in an address",
    file: "src/send/emails/addresses.ts",
    find: "|| unwritable.test(text)) return undefined",
    replace: ") return undefined",
    sentence: "a name has characters that end its header, or that show another address",
    finders: [reading]
  },
  {
    name: "emails: the simulator takes mail of live keys",
    file: "src/send/emails/readMessage.ts",
    find: 'const simulator = mode === "live" ? all.find(isSimulator) : undefined',
    replace: 'const simulator = mode === "test" ? all.find(isSimulator) : undefined',
    sentence: "live mail goes to addresses that no one has",
    finders: [reading]
  },
  {
    name: "emails: both modes share their idempotency keys",
    file: "src/send/repeats.ts",
    find: 'mode === "live" ? "l" : "t"',
    replace: '"l"',
    sentence: "a test request is answered as a repeat of a live one, or as a conflict with it",
    finders: [sending]
  },
  {
    name: "emails: all keys of an organization share a rate",
    file: "src/send/emails/SendRate.ts",
    find: "({ keyId, mode,",
    replace: "({ plan: keyId, mode,",
    sentence: "one key uses up the requests of the others",
    finders: [sending]
  },
  {
    name: "emails: rows take the same records twice",
    file: "src/send/emails/projection.ts",
    find: "e.sequence < batch.sequence",
    replace: "e.sequence <= batch.sequence",
    sentence: "after a restore an email's history tells what happened twice",
    finders: [rows]
  }
]
