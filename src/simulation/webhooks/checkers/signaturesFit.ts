/** Every request is signed with a secret that the endpoint has, or had a moment ago; during an overlap with both, the new one first. */
import { sign, signatureHeader, timestampHeader } from "../../../webhooks/secret/signature.ts"
import type { Checker } from "../Observer.ts"
import { secretOf } from "../Simulation.ts"

export const signaturesFit: Checker = {
  name: "signatures fit",
  make: (simulation, violate) => ({
    sent: ({ body, deliveryId, endpointId, headers }) => {
      const timestamp = Number(headers[timestampHeader])
      const given = headers[signatureHeader]?.split(",").slice(1) ?? []
      const known = [...simulation.secrets].map((id) => sign([secretOf(id)], timestamp, body).split(",")[1]!)
      if (given.length === 0 || given.length > 2 || given.some((one) => !known.includes(one)))
        return violate(`${deliveryId} to ${endpointId} is signed with a secret that nobody has`)
      // the secrets that the store has known for a while must sign
      const row = simulation.data.endpoints.get(endpointId)
      const settledMillis = simulation.world.now - (simulation.foldedAt.get(endpointId) ?? 0)
      if (!row?.endpoint || settledMillis < 500) return
      // the actor's own answer may be ahead of the store
      const newest = [row.endpoint.secretId, simulation.endpoints.get(endpointId)?.secretId]
        .filter((id) => id !== undefined)
        .map((id) => sign([secretOf(id)], timestamp, body).split(",")[1])
      if (!newest.includes(given[0])) violate(`${deliveryId} to ${endpointId} is not signed with its newest secret`)
    }
  })
}
