/**
 * Runs programs of this machine as streams: text or audio in, audio out, nothing in a file. It kills a program that is
 * no longer read. Needs `ChildProcessSpawner`.
 */
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"
import { Effect, PlatformError, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"

/** The file of a program in the folders of a path; undefined where none has it. */
export const findProgram = (name: string, path: string): string | undefined =>
  path
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })

/** The environment of the programs: none of the platform's own, which has its secrets. */
const environment = { LC_ALL: "C.UTF-8", ESPEAK_DATA_PATH: process.env.ESPEAK_DATA_PATH }

const failed = (program: string, code: number) =>
  PlatformError.systemError({
    _tag: "Unknown",
    module: "ChildProcess",
    method: "exitCode",
    description: `${program} ended with code ${code}`
  })

/** Runs a program on its input and gives what it writes. Fails at the end where the program or its input did. */
export const runProgram = (
  program: string,
  args: ReadonlyArray<string>,
  input: Stream.Stream<Uint8Array, PlatformError.PlatformError>
): Stream.Stream<Uint8Array, PlatformError.PlatformError, ChildProcessSpawner.ChildProcessSpawner> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
      const child = yield* spawner.spawn(
        ChildProcess.make(program, args, {
          env: environment,
          stdin: input,
          // Some texts make espeak-ng complain thousands of times.
          stderr: "ignore",
          // There is nothing that a program would have to put in order.
          killSignal: "SIGKILL"
        })
      )
      const ended = Effect.flatMap(child.exitCode, (code) =>
        code === 0 ? Effect.void : Effect.fail(failed(program, code))
      )
      return Stream.concat(child.stdout, Stream.fromEffectDrain(ended))
    })
  )
