/** Every request is signed with a secret that the endpoint has, or had a moment ago; during an overlap with both, the new one first. */
import { sign, signatureHeader, timestampHeader } from "../../../../src/webhooks/secret/signature.ts"
import type { Checker } from "../Observer.ts"
import { secretOf } from "../WebhooksSimulation.ts"

export const signaturesFit: Checker = {
  name: "signatures fit",
  make: (simulation, violate) => {
    /** The secrets of each endpoint, the newest one at the end; of deleted ones too. */
    const secretIds = new Map<string, Array<string>>()
    return {
      decided: (endpointId, _command, before, after) => {
        const secretId = after?.secretId ?? before?.secretId
        const known = secretIds.get(endpointId) ?? []
        secretIds.set(endpointId, known)
        if (secretId !== undefined && known.at(-1) !== secretId) known.push(secretId)
      },
      sent: ({ body, deliveryId, endpointId, headers }) => {
        const timestamp = Number(headers[timestampHeader])
        const given = headers[signatureHeader]?.split(",").slice(1) ?? []
        const valid = [...simulation.secrets].map((id) => sign([secretOf(id)], timestamp, body).split(",")[1]!)
        if (given.length === 0 || given.length > 2 || given.some((one) => !valid.includes(one)))
          return violate(`${deliveryId} to ${endpointId} is signed with a secret that nobody has`)
        // The secrets that the store has known for a while must sign.
        const row = simulation.data.endpoints.get(endpointId)
        const settledMillis = simulation.world.now - (simulation.foldedAt.get(endpointId) ?? 0)
        if (!row?.endpoint || settledMillis < 500) return
        // An answer of the actor may be ahead of the store, and behind what the actor is by now.
        const known = secretIds.get(endpointId) ?? []
        const newest = known
          .slice(known.indexOf(row.endpoint.secretId))
          .map((id) => sign([secretOf(id)], timestamp, body).split(",")[1])
        if (!newest.includes(given[0])) violate(`${deliveryId} to ${endpointId} is not signed with its newest secret`)
      }
    }
  }
}
