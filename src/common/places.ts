/** Places for work that waits on others: so many at a time over all organizations and so many of each, so that none holds up another. Needs no service. */
import { Effect, PartitionedSemaphore, Semaphore } from "effect"

/** How many at a time. */
export interface PlacesOptions {
  readonly total: number
  readonly ofOrganization: number
}

/** Runs an effect in a place of its organization and one of all. */
export type InPlace = <A, E, R>(organizationId: string, work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

export const makePlaces = ({ ofOrganization, total }: PlacesOptions): InPlace => {
  const all = PartitionedSemaphore.makeUnsafe<string>({ permits: total })
  const places = new Map<string, { readonly own: Semaphore.Semaphore; users: number }>()
  return (organizationId, work) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const known = places.get(organizationId)
        const place = known ?? { own: Semaphore.makeUnsafe(ofOrganization), users: 0 }
        places.set(organizationId, place)
        place.users++
        return place
      }),
      ({ own }) => own.withPermit(all.withPermit(organizationId)(work)),
      (place) =>
        Effect.sync(() => {
          place.users--
          if (place.users === 0) places.delete(organizationId)
        })
    )
}
