/** Places for work that waits on others: so many at a time over all organizations and so many of each, so that none holds up another. Needs no service. */
import { Data, Effect, PartitionedSemaphore, type Scope, Semaphore } from "effect"

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

/** No place is free. */
export class NoPlace extends Data.TaggedError("NoPlace")<{
  /** Whose places are taken. */
  readonly of: "organization" | "all"
}> {}

/** Takes a place of an organization and one of all, and gives them back with the scope. */
export type TakePlace = (organizationId: string) => Effect.Effect<void, NoPlace, Scope.Scope>

/** Places for which nobody waits: who finds none free is refused at once. */
export const makePlacesAtOnce = ({ ofOrganization, total }: PlacesOptions): TakePlace => {
  const taken = new Map<string, number>()
  let all = 0
  const add = (organizationId: string, change: 1 | -1) => {
    all += change
    const count = (taken.get(organizationId) ?? 0) + change
    if (count === 0) taken.delete(organizationId)
    else taken.set(organizationId, count)
  }
  return (organizationId) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.suspend(() => {
          if ((taken.get(organizationId) ?? 0) >= ofOrganization)
            return Effect.fail(new NoPlace({ of: "organization" }))
          if (all >= total) return Effect.fail(new NoPlace({ of: "all" }))
          add(organizationId, 1)
          return Effect.void
        }),
        () => Effect.sync(() => add(organizationId, -1))
      )
    )
}
