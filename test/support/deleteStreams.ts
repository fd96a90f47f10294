import { jetstreamManager } from "@nats-io/jetstream"
import { connect } from "@nats-io/transport-node"
import { inject } from "vitest"

/** Deletes the streams of a namespace from the run's nats-server, as the loss of their disk would. Answers how many. */
export const deleteStreams = async (namespace: string): Promise<number> => {
  const { host, password, username } = new URL(inject("natsUrl"))
  const client = await connect({ servers: host, user: username, pass: password })
  try {
    const manager = await jetstreamManager(client)
    let count = 0
    for await (const info of manager.streams.list()) {
      if (!info.config.name.startsWith(`${namespace}-`)) continue
      await manager.streams.delete(info.config.name)
      count++
    }
    return count
  } finally {
    await client.close()
  }
}
