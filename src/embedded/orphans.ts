/**
 * Stops servers that outlived the platform that started them: a killed parent cannot stop its children. It finds them
 * by the data folder's token in their command line, which no other folder's servers have, and stops them before new
 * ones start. Call these only while this process holds the folder. Needs no service.
 */
import { Effect, Schedule } from "effect"
import { isAlive, type ProcessInfo, processesNaming, signal } from "./processes.ts"

/** The arguments by which each server carries the token; also how it is recognised. */
export const postgresMark = (token: string): ReadonlyArray<string> => ["-c", `cluster_name=${token}`]
export const natsMark = (token: string): ReadonlyArray<string> => ["-n", token]

const pollMillis = 20

const carries = (command: ReadonlyArray<string>, mark: ReadonlyArray<string>): boolean => {
  // Some systems show the arguments as one line. They cannot be separated then, but the token is random enough.
  if (command.length === 1) return ` ${command[0]} `.includes(` ${mark.join(" ")} `)
  return command.some((_, start) => mark.every((part, offset) => command[start + offset] === part))
}

/** The servers' main processes that carry the mark. */
export const findMarked = (mark: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<ProcessInfo>> =>
  Effect.map(processesNaming(mark.at(-1)!), (named) =>
    named.filter((info) => info.pid !== process.pid && carries(info.command, mark))
  )

/**
 * PostgreSQL's other processes, which show the cluster's name in their title, among them those of a killed main one.
 */
export const findPostgresWorkers = (token: string): Effect.Effect<ReadonlyArray<ProcessInfo>> =>
  Effect.map(processesNaming(token), (named) =>
    named.filter((info) => info.command.length === 1 && info.command[0]!.startsWith(`postgres: ${token}: `))
  )

/** Waits until all have ended; true if they did within the time. */
const waitForEnd = (processes: ReadonlyArray<ProcessInfo>, waitMillis: number): Effect.Effect<boolean> =>
  Effect.forEach(processes, isAlive).pipe(
    Effect.repeat({ until: (alive) => alive.every((one) => !one), schedule: Schedule.spaced(pollMillis) }),
    Effect.timeoutOption(waitMillis),
    Effect.map((done) => done._tag === "Some")
  )

/**
 * Ends the processes with one signal after the other, each with its time to work; answers those that still live. Before
 * every signal it checks that the number still belongs to the same process.
 */
export const endProcesses = Effect.fnUntraced(function* (
  processes: ReadonlyArray<ProcessInfo>,
  steps: ReadonlyArray<{ readonly signal: NodeJS.Signals | undefined; readonly waitMillis: number }>
) {
  for (const step of steps) {
    if (step.signal !== undefined) for (const one of processes) yield* signal(one, step.signal)
    if (yield* waitForEnd(processes, step.waitMillis)) return []
  }
  return yield* Effect.filter(processes, isAlive)
})
