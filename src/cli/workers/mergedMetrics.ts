/**
 * Merges the metrics of several workers into one text: every sample has the number of its worker, every family one
 * description. Pure.
 */

/** The lines of one family: its `HELP` and `TYPE`, and the samples of all workers. */
interface Family {
  readonly head: ReadonlyArray<string>
  readonly samples: Array<string>
}

const headline = /^# (?:HELP|TYPE) (\S+)/

/** A sample with one more label, before the others. */
const labelled = (sample: string, worker: string): string => {
  const at = sample.search(/[{ ]/)
  const name = sample.slice(0, at)
  return sample[at] === "{"
    ? `${name}{worker="${worker}",${sample.slice(at + 1)}`
    : `${name}{worker="${worker}"}${sample.slice(at)}`
}

/** Takes in one worker's text. Families keep the order in which they were met first. */
const takeIn = (families: Map<string, Family>, worker: string, text: string): void => {
  let head: Array<string> = []
  let family: Family | undefined
  for (const line of text.split("\n")) {
    if (line === "") continue
    const name = headline.exec(line)?.[1]
    if (name === undefined) {
      if (!line.startsWith("#")) family?.samples.push(labelled(line, worker))
      continue
    }
    if (!(name === headNameOf(head))) head = []
    head.push(line)
    family = families.get(name)
    if (family === undefined) {
      family = { head, samples: [] }
      families.set(name, family)
    }
  }
}

const headNameOf = ([first = ""]: ReadonlyArray<string>): string | undefined => headline.exec(first)?.[1]

/**
 * `texts` are those of the workers by number; undefined for one that did not answer, which shows as `sluice_worker_up`
 * 0.
 */
export const mergedMetrics = (texts: ReadonlyMap<number, string | undefined>): string => {
  const families = new Map<string, Family>()
  const up = ["# HELP sluice_worker_up Whether a worker has answered", "# TYPE sluice_worker_up gauge"]
  families.set("sluice_worker_up", { head: up, samples: [] })
  for (const [number, text] of texts) {
    families.get("sluice_worker_up")!.samples.push(`sluice_worker_up{worker="${number}"} ${text === undefined ? 0 : 1}`)
    if (text !== undefined) takeIn(families, String(number), text)
  }
  return `${[...families.values()].flatMap(({ head, samples }) => [...head, ...samples]).join("\n")}\n`
}
