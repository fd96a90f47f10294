/**
 * Reads secrets from files (docs/operating.md): `NAME_FILE` names the file whose text is the value of
 * the secret setting `NAME`, as Docker, Kubernetes and systemd mount secrets.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs"
import { Result } from "effect"
import { givenIn } from "./variables.ts"

/** The longest text of such a file, in bytes. */
const maximumBytes = 65_536

/** The variable that names the file of a secret. */
export const fileVariable = (env: string): string => `${env}_FILE`

/** The file's text, without the line break that editors and `echo` put at its end; or why there is none. */
const read = (path: string): Result.Result<string, string> => {
  let file: number | undefined
  try {
    file = openSync(path, "r")
    if (!fstatSync(file).isFile()) return Result.fail("is no file")
    // One byte more shows that it is too long.
    const buffer = Buffer.alloc(maximumBytes + 1)
    let length = 0
    for (let more = 1; more > 0 && length < buffer.length; length += more)
      more = readSync(file, buffer, length, buffer.length - length, null)
    if (length > maximumBytes) return Result.fail(`has more than ${maximumBytes} bytes`)
    const text = buffer.toString("utf8", 0, length).replace(/\r?\n$/, "")
    return text === "" ? Result.fail("is empty") : Result.succeed(text)
  } catch (cause) {
    return Result.fail(`cannot be read (${(cause as NodeJS.ErrnoException).code ?? "no reason is given"})`)
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/**
 * The secret in the file that the environment names; undefined where it names none. A fault is a sentence without the
 * text of the file.
 */
export const secretInFile = (
  environment: Readonly<Record<string, string | undefined>>,
  env: string
): Result.Result<string, string> | undefined => {
  const variable = fileVariable(env)
  const path = givenIn(environment, variable)
  if (path === undefined) return undefined
  if (givenIn(environment, env) !== undefined)
    return Result.fail(`${env} and ${variable} are both set, and only one can count`)
  return Result.mapError(read(path), (why) => `${variable} names ${JSON.stringify(path)}, which ${why}`)
}
