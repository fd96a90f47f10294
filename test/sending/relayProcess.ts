/**
 * The relay of a kill run: an SMTP server in a process of its own, which writes a line with the time and the email's id for each mail before it says that it has taken it. Some
 * recipients it refuses for good.
 */
import { appendFileSync } from "node:fs"
import { SMTPServer } from "smtp-server"
import { nobody } from "./relay.ts"

/** Name the file and the port; 0 takes a free one. */
export const witnessVariable = "SENDING_WITNESS_FILE"
export const portVariable = "SENDING_RELAY_PORT"

const file = process.env[witnessVariable]
if (file !== undefined) {
  const server = new SMTPServer({
    authOptional: true,
    logger: false,
    disableReverseLookup: true,
    disabledCommands: ["AUTH", "STARTTLS"],
    onRcptTo: ({ address }, _session, done) =>
      address.startsWith(nobody) ? done(Object.assign(new Error("5.1.1 No such user"), { responseCode: 550 })) : done(),
    onData: (stream, _session, done) => {
      const chunks: Array<Buffer> = []
      stream.on("data", (chunk: Buffer) => chunks.push(chunk))
      stream.on("end", () => {
        const id = /^Message-ID: <([^@>]+)@/im.exec(Buffer.concat(chunks).toString("latin1"))?.[1]
        appendFileSync(file, `${Date.now()} ${id}\n`)
        done(null, "Taken")
      })
    }
  })
  server.on("error", () => undefined)
  server.listen(Number(process.env[portVariable]), "127.0.0.1", () => {
    const address = server.server.address()
    process.send?.(typeof address === "object" && address !== null ? address.port : 0)
  })
}
