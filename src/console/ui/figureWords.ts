/** Says figures as people do. Pure. */

/** A size, such as 4.2 MB. */
export const bytesOf = (bytes: number): string => {
  const units = ["B", "kB", "MB", "GB", "TB"]
  const power = bytes === 0 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${(bytes / 1_000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`
}

/** A number with its noun, such as `1 delivery` or `12 deliveries`. */
export const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`
