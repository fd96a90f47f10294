/**
 * A run of backups: `sluice serve` on servers of its own answers callers while `sluice backup` copies it again and again; some backups are killed in the
 * middle. Then the data folder is removed, and backups are restored into new ones and audited: each has everything that was answered before its positions.
 * At the end one store is older than the other, both ways.
 */
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { Prng } from "../../src/simulation/kernel/Prng.ts"
import { until } from "../cli/support.ts"
import { KilledPlatform, makeSeededData } from "../support/killed.ts"
import { describeViolations, type Means } from "../support/longRun.ts"
import { type Finished, type Started, start } from "../support/platform.ts"
import { type AtEnd, inRunFolder, timed } from "../support/runFolder.ts"
import { type Answered, type BackupTenant, makeBackupTenant, missingFacts, startLoad, startReceiver } from "./facts.ts"

export interface BackupRunOptions extends Means {
  readonly seconds: number
  readonly backups: number
  readonly kills: number
  readonly callers: number
  readonly seed: number
}

/** A backup as the command says it. */
interface TakenBackup {
  readonly id: string
  readonly millis: number
  readonly bytes: number
  readonly copied: number
  readonly reused: number
  /** Everything answered until then is in it. Unix milliseconds. */
  readonly positionsAt: number
}

export interface BackupRunReport {
  readonly violations: ReadonlyArray<string>
  readonly answered: number
  readonly backups: ReadonlyArray<TakenBackup>
  readonly kills: number
  /** How long restores took, and until the platform was ready. */
  readonly restores: ReadonlyArray<{
    readonly rows: number
    readonly messages: number
    readonly restoreMillis: number
    readonly readyMillis: number
  }>
  /** The rate of answers while nothing was copied and while a backup was, in a second. */
  readonly rates: readonly [alone: number, beside: number]
}

const adminKey = `adm_${"Bk7".repeat(10)}`
const tenantCount = 6
const environment = { SLUICE_ADMIN_KEY: adminKey, SLUICE_DEMO: "off" }

/** A data folder with a restored backup. */
interface RestoredData {
  readonly data: string
  readonly millis: number
  readonly rows: number
  readonly messages: number
}

/** A restore is killed within so long. */
const killWithinMillis = 2_000

/** Everything that a part of the run uses. */
class Run {
  readonly violations: Array<string> = []
  readonly folder: string
  readonly atEnd: AtEnd
  readonly say: (line: string) => void
  private places = 0

  constructor(folder: string, atEnd: AtEnd, say: (line: string) => void) {
    this.folder = folder
    this.atEnd = atEnd
    this.say = say
  }

  get backups(): string {
    return join(this.folder, "backups")
  }

  place(): string {
    return join(this.folder, `data${++this.places}`)
  }

  begin(args: ReadonlyArray<string>, data: string): Started {
    const started = start(args, { SLUICE_DATA_DIR: data })
    this.atEnd(() => void started.process.kill("SIGKILL"))
    return started
  }

  async command(args: ReadonlyArray<string>, data: string): Promise<Finished> {
    return this.begin(args, data).finished
  }

  async ok(args: ReadonlyArray<string>, data: string): Promise<string> {
    const { code, stderr, stdout } = await this.command(args, data)
    if (code !== 0) throw new Error(`sluice ${args.join(" ")} ends with ${code}: ${stderr}`)
    return stdout
  }

  /** The command has to be refused, with such a sentence. */
  async refused(args: ReadonlyArray<string>, data: string, sentence: RegExp): Promise<void> {
    const { code, stderr } = await this.command(args, data)
    if (code !== 1 || !sentence.test(stderr))
      this.violations.push(
        `sluice ${args.join(" ")} ends with ${code} and says ${JSON.stringify(stderr)}, not ${sentence}`
      )
  }

  async platform(data: string): Promise<KilledPlatform> {
    const platform = new KilledPlatform({ folder: data, environment })
    this.atEnd(() => platform.stop())
    await platform.start()
    return platform
  }

  async take(data: string, ...flags: ReadonlyArray<string>): Promise<TakenBackup> {
    const said = JSON.parse(await this.ok(["backup", this.backups, "--json", ...flags], data)) as Omit<
      TakenBackup,
      "positionsAt"
    >
    const manifest = await readFile(join(this.backups, said.id, "manifest.json"), "utf8")
    const [, positionsAt] = /"positionsAt": "([^"]+)"/.exec(manifest)!
    return { ...said, positionsAt: Date.parse(positionsAt!) }
  }

  /** A data folder with the key of another one, and a restored backup; a first restore is killed so long after it has begun. */
  async restore(key: string, at: string, killedAfterMillis: number): Promise<RestoredData> {
    const data = this.place()
    await mkdir(join(data, "secrets"), { recursive: true, mode: 0o700 })
    await cp(key, join(data, "secrets", "secrets.key"))
    const args = ["restore", this.backups, "--json", "--at", at]
    const killed = this.begin(args, data)
    await Promise.race([until(() => killed.stderr().includes("Reading the backup")), killed.finished])
    await Promise.race([pause(killedAfterMillis), killed.finished])
    killed.process.kill("SIGKILL")
    const { code, stderr, stdout } = await killed.finished
    const isKilled = code !== 0
    if (isKilled) this.say(`a restore was killed after: ${stderr.trim().split("\n").at(-1)?.trim()}`)
    const again = isKilled ? await this.command(args, data) : { code, stderr, stdout }
    // In its last moment the streams are complete and the tables are not: it begins with new stores (docs/backup.md).
    if (again.code === 1 && again.stderr.includes("NATS is not empty")) return this.restore(key, at, 0)
    if (again.code !== 0) throw new Error(`a restore that was killed ends with ${again.code}: ${again.stderr}`)
    const said = JSON.parse(again.stdout) as Omit<RestoredData, "data">
    return { data, ...said }
  }
}

/** Takes backups while the platform answers, and kills some. */
const backUpUnderLoad = async (
  run: Run,
  data: string,
  platform: KilledPlatform,
  tenants: ReadonlyArray<BackupTenant>,
  { backups, callers, kills, seconds, seed }: BackupRunOptions
) => {
  const random = new Prng(seed, "backups")
  const load = startLoad(platform, tenants, callers)
  const began = performance.now()
  await pause((seconds * 1_000) / 4)
  const alone = load.answered.length / ((performance.now() - began) / 1_000)
  const taken: Array<TakenBackup> = []
  let [beside, besideSeconds] = [0, 0]
  for (let index = 0; index < backups; index++) {
    const [count, from] = [load.answered.length, performance.now()]
    taken.push(await run.take(data, ...(index === backups - 1 ? ["--rate", "1024"] : [])))
    beside += load.answered.length - count
    besideSeconds += (performance.now() - from) / 1_000
    run.say(
      `backup ${taken.at(-1)!.id}: ${taken.at(-1)!.millis} ms, ${taken.at(-1)!.copied} messages copied, ${taken.at(-1)!.reused} kept`
    )
    for (let kill = 0; kill < Math.ceil(kills / backups) && index * Math.ceil(kills / backups) + kill < kills; kill++) {
      const killed = run.begin(["backup", run.backups], data)
      await pause(taken.at(-1)!.millis * random.next() * 1.5)
      killed.process.kill("SIGKILL")
      const { code } = await killed.finished
      run.say(code === 0 ? "a backup was complete before its kill" : "a backup was killed")
      const said = await run.command(["backup", "verify", run.backups, "--at", taken.at(-1)!.id], data)
      if (said.code !== 0) run.violations.push(`after a killed backup ${taken.at(-1)!.id} is not whole: ${said.stderr}`)
    }
    const left = seconds * 1_000 * (0.25 + (0.75 * (index + 1)) / backups) - (performance.now() - began)
    if (index < backups - 1) await pause(Math.max(0, left))
  }
  await load.stop()
  return { answered: load.answered, taken, rates: [alone, beside / besideSeconds] as const }
}

/** Damages a copy of the backups in each way, and looks whether it is found. */
const damage = async (run: Run, data: string, id: string): Promise<void> => {
  const names = await readdir(join(run.backups, id, "tables"))
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(run.backups, id, "tables", name))).size))
  const largest = names[sizes.indexOf(Math.max(...sizes))]!
  const file = join(run.backups, id, "tables", largest)
  const whole = await readFile(file)
  const changed = Buffer.from(whole)
  changed[Math.floor(whole.length / 2)]! ^= 16
  await writeFile(file, changed)
  await run.refused(
    ["backup", "verify", run.backups, "--at", id],
    data,
    new RegExp(`${id}/tables/${largest}: the \\d+ bytes at byte \\d+`)
  )
  await run.refused(["restore", run.backups, "--at", id], run.place(), /There is no secrets key/)
  await writeFile(file, whole.subarray(0, whole.length - 5))
  await run.refused(["backup", "verify", run.backups, "--at", id], data, /the file is cut at byte/)
  await rm(file)
  await run.refused(["backup", "verify", run.backups, "--at", id], data, new RegExp(`${largest}: the file is missing`))
  await writeFile(file, whole, { mode: 0o600 })
}

const work = async (options: BackupRunOptions, folder: string, atEnd: AtEnd): Promise<BackupRunReport> => {
  const { say } = timed(options.tell)
  const run = new Run(folder, atEnd, say)
  options.tell(`seed ${options.seed}: ${options.seconds} s of load, ${options.backups} backups, ${options.kills} kills`)
  const receiver = await startReceiver()
  atEnd(() => receiver.stop())
  const first = await makeSeededData(folder, atEnd)
  const platform = await run.platform(first)
  const names = Array.from({ length: tenantCount }, (_, index) => `tenant${index + 1}`)
  const tenants = await Promise.all(names.map((name) => makeBackupTenant(platform, adminKey, receiver.url, name)))
  say("the platform is ready")
  const { answered, rates, taken } = await backUpUnderLoad(run, first, platform, tenants, options)
  say(`${answered.length} answers`)
  const key = join(folder, "secrets.key")
  await cp(join(first, "secrets", "secrets.key"), key)
  await damage(run, first, taken.at(-1)!.id)
  await platform.stop()
  await rm(first, { recursive: true })
  say("the data folder is gone")

  const restores: Array<BackupRunReport["restores"][number]> = []
  const audit = async (data: string, facts: ReadonlyArray<Answered>, until: number) => {
    const begunAt = performance.now()
    const restored = await run.platform(data)
    const readyMillis = performance.now() - begunAt
    run.violations.push(...(await missingFacts(restored, tenants, facts, until)))
    return { restored, readyMillis }
  }
  const random = new Prng(options.seed, "restores")
  let last: { data: string; restored: KilledPlatform } | undefined
  for (const backup of [taken[0]!, taken.at(-1)!]) {
    const { data, messages, millis, rows } = await run.restore(key, backup.id, killWithinMillis * random.next())
    say(`restored ${backup.id} in ${millis} ms: ${rows} rows, ${messages} messages`)
    const { readyMillis, restored } = await audit(data, answered, backup.positionsAt)
    restores.push({ rows, messages, restoreMillis: millis, readyMillis })
    say(
      `it is ready after ${Math.round(readyMillis)} ms, and has what was answered until ${new Date(backup.positionsAt).toISOString()}`
    )
    if (backup === taken.at(-1)) last = { data, restored }
    else await restored.stop()
  }
  await oneOlder(run, last!, tenants, taken)
  return {
    violations: run.violations,
    answered: answered.length,
    backups: taken,
    kills: options.kills,
    restores,
    rates
  }
}

/** Restores one store beside the other, both ways. */
const oneOlder = async (
  run: Run,
  { data, restored }: { readonly data: string; readonly restored: KilledPlatform },
  tenants: ReadonlyArray<BackupTenant>,
  taken: ReadonlyArray<TakenBackup>
): Promise<void> => {
  const load = startLoad(restored, tenants, 4)
  await pause(2_000)
  await load.stop()
  await restored.stop()

  await rm(join(data, "postgres"), { recursive: true })
  const said = await run.ok(["restore", run.backups, "--only", "postgres", "--at", taken.at(-1)!.id], data)
  if (!/frames newer than PostgreSQL/.test(said)) run.violations.push(`an older PostgreSQL is restored with ${said}`)
  const replayed = await run.platform(data)
  run.violations.push(...(await missingFacts(replayed, tenants, load.answered, Number.POSITIVE_INFINITY)))
  await replayed.stop()
  run.say("an older PostgreSQL caught up with the log")

  await rm(join(data, "nats"), { recursive: true })
  const lost = await run.ok(["restore", run.backups, "--only", "nats", "--at", taken.at(-1)!.id], data)
  if (!/frames \d+ to \d+ are missing/.test(lost)) run.violations.push(`an older log is restored with ${lost}`)
  await run.ok(["recover", "--accept-loss"], data)
  const without = await run.platform(data)
  const more = startLoad(without, tenants, 4)
  await pause(1_000)
  await more.stop()
  run.violations.push(...(await missingFacts(without, tenants, more.answered, Number.POSITIVE_INFINITY)))
  await without.stop()
  run.say("an older log goes on without what it lost")

  // A log whose storage is gone beside the others.
  const nats = join(data, "nats")
  const gone = (await readdir(nats, { recursive: true })).find((name) => name.endsWith("/log-0"))
  if (gone === undefined) throw new Error(`there is no stream log-0 in ${nats}`)
  await rm(join(nats, gone), { recursive: true })
  await run.refused(
    ["backup", run.backups],
    data,
    /partition 0: its log is missing, and the database has seen frames 1 to \d+/
  )
}

/** Runs it in a folder of its own. */
export const runBackups = (options: BackupRunOptions): Promise<BackupRunReport> =>
  inRunFolder("backup", options.signal, (folder, atEnd) => work(options, folder, atEnd))

export const describeBackups = ({ answered, backups, kills, rates, restores, violations }: BackupRunReport): string => {
  const [full, ...later] = backups
  const mean = (numbers: ReadonlyArray<number>) =>
    Math.round(numbers.reduce((sum, one) => sum + one, 0) / Math.max(1, numbers.length))
  return [
    `answers       ${answered}; ${Math.round(rates[0])} a second alone, ${Math.round(rates[1])} beside a backup`,
    `backups       ${backups.length}, and ${kills} killed; the first ${full!.millis} ms and ${full!.bytes} bytes, a later one ${mean(later.map(({ millis }) => millis))} ms and ${mean(later.map(({ bytes }) => bytes))} bytes`,
    ...restores.map(
      ({ messages, readyMillis, restoreMillis, rows }) =>
        `restore       ${rows} rows and ${messages} messages in ${restoreMillis} ms, ready ${Math.round(readyMillis)} ms after its start`
    ),
    describeViolations(violations, "everything that was answered before a backup is there after its restore")
  ].join("\n")
}
