/**
 * Limits concurrent work that waits on others, over all organizations and for each, so that none blocks another. Needs
 * no service.
 */
import { Data, Effect, PartitionedSemaphore, type Scope, Semaphore } from "effect"

/** Most concurrent holders. */
export interface BulkheadOptions {
  readonly total: number
  readonly ofOrganization: number
}

/** Runs an effect in a place of its organization and one of all. */
export type Bulkhead = <A, E, R>(organizationId: string, work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

export const makeBulkhead = ({ ofOrganization, total }: BulkheadOptions): Bulkhead => {
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
/** The organization whose slots are used up. */
export class BulkheadFull extends Data.TaggedError("BulkheadFull")<{
  readonly of: "organization" | "all"
}> {}

/** Takes a place of an organization and one of all, and gives them back with the scope. */
export type EnterBulkhead = (organizationId: string) => Effect.Effect<void, BulkheadFull, Scope.Scope>

/** Slots without a queue: a caller that finds none free is refused immediately. */
export const makeRefusingBulkhead = ({ ofOrganization, total }: BulkheadOptions): EnterBulkhead => {
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
            return Effect.fail(new BulkheadFull({ of: "organization" }))
          if (all >= total) return Effect.fail(new BulkheadFull({ of: "all" }))
          add(organizationId, 1)
          return Effect.void
        }),
        () => Effect.sync(() => add(organizationId, -1))
      )
    )
}
