/**
 * Derives ids from a place in the log instead of drawing them at random, so that deciding stays pure
 * (docs/architecture.md, rule 8). UUIDv8: 16 bits partition, 32 bits epoch, 44 bits frame number, 2 bits kind, 12 bits
 * command of the drain, 16 bits index. Pure.
 */

/** The kind of thing that an id names. Ids of different kinds are never equal. */
export const idKinds = { decided: 0, event: 1 } as const
export type IdKind = (typeof idKinds)[keyof typeof idKinds]

/** How many decisions under one frame number can get ids. */
export const maximumIdCommands = 0x1000

/**
 * The place an id is derived from. `command` is below 4,096 and `index` below 65,536; for events their place in the
 * frame, split over both.
 */
export interface IdPlace {
  readonly partition: number
  readonly epoch: number
  readonly frame: number
  readonly kind: IdKind
  readonly command: number
  readonly index: number
}

const hex: ReadonlyArray<string> = Array.from({ length: 65536 }, (_, value) => value.toString(16).padStart(4, "0"))

/** The UUIDv8 of a place, lower case with hyphens. Throws outside the ranges: a repeated id would be worse. */
export const deriveId = (place: IdPlace): string => {
  const { command, epoch, frame, index, kind, partition } = place
  if (
    !(
      inRange(partition, 0x10000) &&
      inRange(epoch, 0x1_0000_0000) &&
      inRange(frame, 0x1000_0000_0000) &&
      inRange(command, maximumIdCommands) &&
      inRange(index, 0x10000)
    )
  ) {
    throw new RangeError(`no id can be derived from ${JSON.stringify(place)}`)
  }
  const low = frame % 0x1_0000_0000
  const high = (frame - low) / 0x1_0000_0000
  const epochBits = epoch >>> 0
  // 62 bits after the variant: 32 of the frame, 2 of the kind, 12 of the command, 16 of the index.
  const variant = 0x8000 | (low >>> 18)
  const second = (low >>> 2) & 0xffff
  const third = ((low & 3) << 14) | (kind << 12) | command
  return `${hex[partition]}${hex[epochBits >>> 16]}-${hex[epochBits & 0xffff]}-${hex[0x8000 | high]}-${hex[variant]}-${hex[second]}${hex[third]}${hex[index]}`
}

const inRange = (value: number, end: number): boolean => Number.isInteger(value) && value >= 0 && value < end

/** The id of the record at `index` of a frame, for public events. */
export const eventId = (partition: number, epoch: number, frame: number, index: number): string =>
  deriveId({ partition, epoch, frame, kind: idKinds.event, command: index >>> 16, index: index & 0xffff })
