/**
 * Reads passwords from a file as libpq does (its documentation, "The Password File"): lines of
 * `host:port:database:user:password`, read for each new connection, so that a password is changed without a restart.
 * Needs no service.
 */
import { readFileSync, statSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import type { PgTarget } from "./address.ts"

/** Fields of a line; `\:` and `\\` stand for the characters themselves. The last field has the rest of the line. */
const fieldsOf = (line: string): ReadonlyArray<string> => {
  const fields = [""]
  for (let at = 0; at < line.length; at++) {
    const character = line[at]!
    if (character === ":" && fields.length < 5) fields.push("")
    else if (character === "\\" && at + 1 < line.length) fields[fields.length - 1] += line[++at]!
    else fields[fields.length - 1] += character
  }
  return fields
}

/** The password of the first line that fits the target; `*` fits everything. Pure. */
export const passwordIn = (text: string, { database, host, port, user }: PgTarget): string | undefined => {
  // A socket of this machine has the host `localhost`, too.
  const hosts = host.startsWith("/") ? [host, "localhost"] : [host]
  for (const line of text.split(/\r?\n/)) {
    if (line === "" || line.startsWith("#")) continue
    const [lineHost, linePort, lineDatabase, lineUser, password] = fieldsOf(line)
    if (password === undefined || password === "") continue
    const fits = (field: string | undefined, values: ReadonlyArray<string>) => field === "*" || values.includes(field!)
    if (
      fits(lineHost, hosts) &&
      fits(linePort, [`${port}`]) &&
      fits(lineDatabase, [database]) &&
      fits(lineUser, [user])
    )
      return password
  }
  return undefined
}

/** Why a file cannot be read, in words; undefined where it can. */
export const unreadable = (path: string): string | undefined => {
  try {
    readFileSync(path)
    return undefined
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code ?? "no reason is given"
  }
}

/**
 * The user's own file, read where none is named; undefined where it has no line for the target: it may be there for
 * other servers. As in libpq it does not count if others than its owner may read it. A named file does: Kubernetes
 * mounts secrets for a group.
 */
export const defaultPasswordFile = (target: PgTarget): string | undefined => {
  try {
    const path = join(homedir(), ".pgpass")
    if (passwordIn(readFileSync(path, "utf8"), target) === undefined) return undefined
    return process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0 ? undefined : path
  } catch {
    // A user of a container may have no home directory.
    return undefined
  }
}

/**
 * The password of a target, read when a connection is opened. A file that is gone or has no line for the target gives
 * an empty password, which the server refuses, and a warning that names the file.
 */
export const passwordFrom = (path: string, target: PgTarget): Effect.Effect<Redacted.Redacted> =>
  Effect.try({ try: () => passwordIn(readFileSync(path, "utf8"), target), catch: (cause) => cause }).pipe(
    Effect.flatMap((password) =>
      password === undefined
        ? Effect.fail(`it has no line for ${target.host}:${target.port}:${target.database}:${target.user}`)
        : Effect.succeed(Redacted.make(password))
    ),
    Effect.catch((reason) =>
      Effect.as(
        Effect.logWarning(
          `${path} gives no password for PostgreSQL: ${typeof reason === "string" ? reason : ((reason as NodeJS.ErrnoException).code ?? "it cannot be read")}`
        ),
        Redacted.make("")
      )
    )
  )
