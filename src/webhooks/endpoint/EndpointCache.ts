/** Caches endpoints, so that a state is read and decoded once for each change. Bounded; needs no service. */
import { BoundedMap } from "../../common/BoundedMap.ts"
import type { LogPosition } from "../../engine/ports/Checkpoints.ts"
import type { CursorMove } from "../../engine/ports/Cursors.ts"
import type { FoldedEndpoint } from "./model.ts"

/** Endpoints whose decoded state is remembered. */
const maximumRemembered = 10_000

/** Decoded states, each valid for its frame. */
export class EndpointCache {
  private readonly states = new BoundedMap<string, FoldedEndpoint>(maximumRemembered)

  get(endpointId: string, sequence: number): FoldedEndpoint | undefined {
    const known = this.states.get(endpointId)
    return known?.sequence === sequence ? known : undefined
  }

  set(folded: FoldedEndpoint): void {
    this.states.set(folded.endpointId, folded)
  }
}

/** The endpoints of organizations at the end of a move of the SQL reactor's cursor. */
interface Known {
  readonly at: LogPosition
  /** Organizations, least recently used first. */
  readonly organizations: Map<string, ReadonlyArray<FoldedEndpoint>>
  /** Organizations and their endpoints. */
  size: number
}

const sizeOf = (endpoints: ReadonlyArray<FoldedEndpoint>): number => 1 + endpoints.length

/**
 * Remembers the endpoints of whole organizations. Only the SQL reactor of their partition writes them, so the memory is
 * valid for a move of its cursor that begins where the last one ended, and for no other. Bounded in each partition.
 */
export class OrganizationCache {
  private readonly partitions = new Map<number, Known>()
  private readonly maximum: number

  /** Organizations and endpoints that are remembered of a partition. */
  constructor(maximum = maximumRemembered) {
    this.maximum = maximum
  }

  /**
   * Returns the known endpoints of organizations when the transaction of this move begins; nothing if the transaction
   * makes no move.
   */
  of(move: CursorMove | undefined): (organization: string) => ReadonlyArray<FoldedEndpoint> | undefined {
    const known = move === undefined ? undefined : this.partitions.get(move.partition)
    return known !== undefined && isSame(known.at, move!.from)
      ? (organization) => known.organizations.get(organization)
      : () => undefined
  }

  /** Call it when the move is committed, with the endpoints of the organizations concerned, without deleted ones. */
  committed(move: CursorMove, organizations: Iterable<readonly [string, ReadonlyArray<FoldedEndpoint>]>): void {
    const before = this.partitions.get(move.partition)
    const holds = before !== undefined && isSame(before.at, move.from)
    const known: Known = holds ? { ...before, at: move.to } : { at: move.to, organizations: new Map(), size: 0 }
    for (const [organization, endpoints] of organizations) {
      forget(known, organization)
      known.organizations.set(organization, endpoints)
      known.size += sizeOf(endpoints)
    }
    for (const oldest of known.organizations.keys()) {
      if (known.size <= this.maximum) break
      forget(known, oldest)
    }
    this.partitions.set(move.partition, known)
  }

  /** Call it before anything else than a move of the cursor writes endpoints of the partition. */
  forget(partition: number): void {
    this.partitions.delete(partition)
  }
}

const isSame = (left: LogPosition, right: LogPosition): boolean =>
  left.sequence === right.sequence && left.hash === right.hash

const forget = (known: Known, organization: string): void => {
  const endpoints = known.organizations.get(organization)
  if (endpoints === undefined) return
  known.organizations.delete(organization)
  known.size -= sizeOf(endpoints)
}
