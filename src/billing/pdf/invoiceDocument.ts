/**
 * Draws an invoice as PDF (docs/platform.md, 11.5): tagged, so that it can be read aloud, and with its fonts in it,
 * because the fonts that every reader has lack most of Europe's letters. The same invoice gives the same bytes. Needs
 * no service.
 */
import { createRequire } from "node:module"
import { Data, Effect, Semaphore } from "effect"
import type { Invoice } from "../Invoices.ts"
import { moneyText } from "../money.ts"

/** The document could not be made. */
export class DocumentFailed extends Data.TaggedError("DocumentFailed")<{ readonly cause: unknown }> {}

/** Documents made concurrently: each takes a processor for some ten milliseconds. */
const maximumAtOnce = 2
/** How long a document may take, including its wait for a place. */
const documentTimeoutMillis = 10_000

const margin = 56
const require = createRequire(import.meta.url)
const regular = "dejavu-fonts-ttf/ttf/DejaVuSans.ttf"
const bold = "dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf"

const places = Semaphore.makeUnsafe(maximumAtOnce)

/** A line of the document: a heading, or a name with its value. */
type Line = { readonly heading: string } | { readonly name: string; readonly value: string }

const day = (at: number): string => new Date(at).toISOString().slice(0, 10)

const linesOf = ({
  amount,
  createdAt,
  currency,
  customerEmail,
  customerName,
  description,
  id,
  number
}: Invoice): ReadonlyArray<Line> => [
  { heading: `Invoice ${number}` },
  { name: "Invoice id", value: id },
  { name: "Date", value: day(createdAt) },
  { heading: "Customer" },
  { name: "Name", value: customerName },
  ...(customerEmail === null ? [] : [{ name: "Email", value: customerEmail }]),
  { heading: "Items" },
  { name: description, value: moneyText(amount, currency) },
  { name: "Total", value: moneyText(amount, currency) }
]

/** Loaded when the first invoice is asked for: a server that bills nobody never needs it. */
const render = async (invoice: Invoice): Promise<Uint8Array> => {
  const { default: PDFDocument } = await import("pdfkit")
  const document = new PDFDocument({
    size: "A4",
    margin,
    pdfVersion: "1.7",
    tagged: true,
    lang: "en",
    displayTitle: true,
    // Its date is the invoice's, and so is the file's id, which is made of it and the title.
    info: { Title: `Invoice ${invoice.id}`, CreationDate: new Date(invoice.createdAt) }
  })
  const chunks: Array<Buffer> = []
  const done = new Promise<void>((resolve, reject) => {
    document.on("data", (chunk: Buffer) => chunks.push(chunk))
    document.once("end", resolve)
    document.once("error", reject)
  })
  document.registerFont("regular", require.resolve(regular))
  document.registerFont("bold", require.resolve(bold))
  const root = document.struct("Document")
  document.addStructure(root)
  for (const line of linesOf(invoice)) {
    if ("heading" in line) {
      root.add(
        document.struct("H1", {}, () =>
          document.moveDown().font("bold").fontSize(16).text(line.heading).fontSize(11).moveDown(0.3)
        )
      )
    } else {
      root.add(
        document.struct("P", {}, () => {
          document.font("bold").fontSize(11).text(`${line.name}: `, { continued: true })
          document.font("regular").text(line.value)
        })
      )
    }
  }
  root.end()
  document.end()
  await done
  return Buffer.concat(chunks)
}

/** The bytes of an invoice's document. */
export const invoiceDocument = (invoice: Invoice): Effect.Effect<Uint8Array, DocumentFailed> =>
  Effect.tryPromise({ try: () => render(invoice), catch: (cause) => new DocumentFailed({ cause }) }).pipe(
    places.withPermit,
    Effect.timeout(documentTimeoutMillis),
    Effect.mapError((error) => (error instanceof DocumentFailed ? error : new DocumentFailed({ cause: error })))
  )
