/** `sluice` whose fast lane says in a header which requests it has answered. Started in place of the platform, which knows nothing of it. */
import { type Answering, FrontedServer } from "../../src/http/fast/FrontedServer.ts"

const laneHeader = "x-fast-lane"

const telling = new WeakSet<Answering>()

const tellingOf = (front: Answering): Answering => {
  const tells: Answering = (request, response) => {
    response.setHeader(laneHeader, "answered")
    const isAnswered = front(request, response)
    if (!isAnswered) response.removeHeader(laneHeader)
    return isAnswered
  }
  telling.add(tells)
  return tells
}

const { emit } = FrontedServer.prototype
FrontedServer.prototype.emit = function (this: FrontedServer, event, ...given) {
  if (this.front !== undefined && !telling.has(this.front)) this.front = tellingOf(this.front)
  return emit.call(this, event, ...given)
}

await import("../../src/main.ts")
