/**
 * A thread that takes mail as fast as it comes, with as little SMTP as a client needs: what it costs is the same for every client. It tells its port, and how many mails it has
 * taken whenever it is asked.
 */
import { createServer, type Socket } from "node:net"
import { parentPort } from "node:worker_threads"

const answers: Readonly<Record<string, string>> = {
  EHLO: "250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE 52428800\r\n",
  DATA: "354 go on\r\n",
  QUIT: "221 bye\r\n"
}

let taken = 0
parentPort?.on("message", () => parentPort?.postMessage(taken))

const end = Buffer.from("\r\n.\r\n")

const serve = (socket: Socket): void => {
  let waiting: Buffer = Buffer.alloc(0)
  let isData = false
  socket.setNoDelay(true)
  socket.on("error", () => undefined)
  socket.on("data", (chunk) => {
    waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk])
    for (;;) {
      const at = waiting.indexOf(isData ? end : "\r\n")
      if (at === -1) {
        // Nothing of a mail is kept but what may be the beginning of its end.
        if (isData) waiting = waiting.subarray(Math.max(0, waiting.length - end.length))
        return
      }
      if (isData) taken++
      const line = isData ? "" : waiting.subarray(0, 4).toString("latin1").toUpperCase()
      waiting = waiting.subarray(at + (isData ? end.length : 2))
      isData = line === "DATA"
      socket.write(answers[line] ?? "250 ok\r\n")
    }
  })
  socket.write("220 sink\r\n")
}

const server = createServer(serve).listen(0, "127.0.0.1", () => {
  const address = server.address()
  parentPort?.postMessage(typeof address === "object" ? address?.port : 0)
})
