/** Reads a Dockerfile of one stage, as far as the documents use it; an instruction that it does not know is an error. */

/** The instructions of a Dockerfile. */
export interface Image {
  readonly from: string
  readonly workdir: string
  readonly copies: ReadonlyArray<readonly [from: string, to: string]>
  readonly runs: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
  readonly user: string
  readonly volumes: ReadonlyArray<string>
  readonly ports: ReadonlyArray<number>
  /** The words of the command, in the form that no shell reads. */
  readonly command: ReadonlyArray<string>
}

const known = ["FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "VOLUME", "EXPOSE", "CMD"]

export const imageOf = (file: string): Image => {
  const lines = file
    .replaceAll(/\\\n */g, "")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"))
    .map((line) => /^(\w+) +(.*)$/.exec(line) ?? [line, line, ""])
    .map(([, instruction, value]) => [instruction!, value!] as const)
  const unknown = lines.filter(([instruction]) => !known.includes(instruction))
  if (unknown.length > 0 || lines[0]?.[0] !== "FROM") throw new Error(`no Dockerfile: ${unknown[0]?.[0]}`)
  const all = (name: string) => lines.filter(([instruction]) => instruction === name).map(([, value]) => value)
  return {
    from: all("FROM")[0]!,
    workdir: all("WORKDIR")[0]!,
    copies: all("COPY").map((value) => value.split(" ") as [string, string]),
    runs: all("RUN"),
    environment: Object.fromEntries(
      all("ENV")
        .flatMap((value) => value.split(" "))
        .map((pair) => pair.split("=") as [string, string])
    ),
    user: all("USER")[0]!,
    volumes: all("VOLUME"),
    ports: all("EXPOSE").map(Number),
    command: JSON.parse(all("CMD")[0]!) as ReadonlyArray<string>
  }
}
