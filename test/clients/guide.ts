/**
 * Runs the programs of docs/quickstart.md as a reader would: the first email, a domain, a receiver with right and wrong
 * signatures and an event of the platform, and the bounces of test mail.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { createHmac, randomUUID } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Programs of a language: how they are run. */
interface Language {
  readonly program: string
  readonly args: ReadonlyArray<string>
  readonly extension: string
  /** The words of a receiver's command. */
  readonly receiver: (port: number) => ReadonlyArray<string>
}

const node: Language = {
  program: process.execPath,
  args: [],
  extension: "mjs",
  receiver: () => ["receive.mjs"]
}

export const guideLanguages: Readonly<Record<string, Language>> = {
  curl: { program: "sh", args: [], extension: "sh", receiver: () => ["receive.sh"] },
  Node: node,
  Python: { program: "python3", args: [], extension: "py", receiver: () => ["receive.py"] },
  PHP: { program: "php", args: [], extension: "php", receiver: (port) => ["-S", `localhost:${port}`, "receive.php"] },
  Go: { program: "go", args: ["run"], extension: "go", receiver: () => ["run", "receive.go", "signature.go"] }
}

/** A platform, and the keys of one organization. */
export interface GuideTarget {
  readonly url: string
  readonly key: string
  /** A key of test mode. */
  readonly testKey: string
}

const waitMillis = 60_000

const body = JSON.stringify({ type: "telco.lookup.completed", data: { text: "Zürich" } })

const signed = (seconds: number, secret: string): string =>
  `t=${seconds},v1=${createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex")}`

/** Signatures of the body above, and whether each is right. */
const signatures = (secret: string): ReadonlyArray<readonly [signature: string, isRight: boolean]> => {
  const now = Math.floor(Date.now() / 1000)
  const rotated = `${signed(now, "whsec_other")},${signed(now, secret).split(",")[1]}`
  return [
    [signed(now, secret), true],
    [rotated, true],
    [signed(now, "whsec_other"), false],
    [signed(now - 600, secret), false],
    ["t=x,v1=y", false],
    ["v1", false]
  ]
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number }
      server.close(() => resolve(port))
    })
  })

/** Asks until the answer is right; says whether it was, in time. */
const until = async (isRight: () => Promise<boolean> | boolean): Promise<boolean> => {
  const end = Date.now() + waitMillis
  while (Date.now() < end) {
    if (await isRight()) return true
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return false
}

/** One language's run of the guide. */
class GuideRun {
  readonly failures: Array<string> = []
  passed = 0
  private readonly folder = mkdtempSync(join(tmpdir(), "sluice-guide-"))

  private readonly name: string
  private readonly language: Language
  private readonly target: GuideTarget

  constructor(name: string, language: Language, target: GuideTarget) {
    this.name = name
    this.language = language
    this.target = target
    const text = readFileSync(new URL("../../docs/quickstart.md", import.meta.url), "utf8")
    for (const [, program, file] of text.matchAll(
      /^```\w+(?: \[\w+\])?\n((?:<\?php )?(?:#|\/\/) (\w+\.\w+)[\s\S]*?)^```$/gm
    ))
      writeFileSync(join(this.folder, file!), program!)
  }

  private check(what: string, isRight: boolean, output = ""): void {
    if (isRight) this.passed++
    else this.failures.push(`docs/quickstart.md in ${this.name}: ${what}: ${output}`)
  }

  private environment(more: Readonly<Record<string, string>>) {
    const { key, url } = this.target
    return { ...process.env, API: url, KEY: key, ...more }
  }

  private run(name: string, more: Readonly<Record<string, string>> = {}, shell = false) {
    const { args, extension, program } = shell ? guideLanguages.curl! : this.language
    const words = [...args, `${name}.${extension}`]
    const options = { cwd: this.folder, env: this.environment(more), input: body, encoding: "utf8" } as const
    const { status, stderr, stdout } = spawnSync(program, words, options)
    return { status: status ?? 1, stdout, output: `${status} ${stdout}${stderr}` }
  }

  private async ask(path: string, key: string, sent?: object, once?: string): Promise<unknown> {
    const answer = await fetch(`${this.target.url}${path}`, {
      method: sent === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        ...(once === undefined ? {} : { "idempotency-key": once })
      },
      ...(sent === undefined ? {} : { body: JSON.stringify(sent) })
    })
    return answer.json()
  }

  private sends(): void {
    const { output, status, stdout } = this.run("first_email")
    this.check("first_email", status === 0 && stdout.includes('"state":"queued"'), output)
    const again = this.run("first_email")
    this.check("a repeat is carried out once", again.stdout.trim() === stdout.trim(), again.output)
    const domain = `${randomUUID()}.guide.example`
    const added = this.run("domain", { DOMAIN: domain })
    this.check(
      "domain",
      added.status === 0 && /v=DKIM1; k=rsa; p=/.test(added.stdout) && added.stdout.includes(domain),
      added.output
    )
  }

  private async receives(): Promise<void> {
    const port = await freePort()
    const created = this.run("endpoint", { PORT: String(port) }, true)
    const endpoint = JSON.parse(created.stdout) as { readonly id: string; readonly signing_secret: string }
    const SECRET = endpoint.signing_secret
    const child = spawn(this.language.program, this.language.receiver(port), {
      cwd: this.folder,
      env: this.environment({ PORT: String(port), SECRET }),
      // Go runs the receiver as a child of its own.
      detached: true
    })
    let output = ""
    const hear = (text: string) => {
      output += text
    }
    child.stdout.setEncoding("utf8").on("data", hear)
    child.stderr.setEncoding("utf8").on("data", hear)
    try {
      if (this.name === "curl") await this.streams(SECRET, () => output)
      else await this.serves(port, SECRET, endpoint.id, () => output)
    } finally {
      await this.end(child)
      await fetch(`${this.target.url}/v1/webhooks/${endpoint.id}`, {
        method: "DELETE",
        headers: { authorization: `Bearer ${this.target.key}` }
      })
    }
  }

  private async end(child: ChildProcess): Promise<void> {
    const ended = new Promise((resolve) => child.once("exit", resolve))
    if (child.exitCode !== null || child.signalCode !== null) return
    process.kill(-child.pid!, "SIGKILL")
    await ended
  }

  private async serves(port: number, secret: string, id: string, output: () => string): Promise<void> {
    const post = async (signature: string): Promise<number> => {
      const headers = { "content-type": "application/json", "x-platformwebhook-signature": signature }
      const answer = await fetch(`http://localhost:${port}/hook`, { method: "POST", headers, body }).catch(
        () => undefined
      )
      await answer?.arrayBuffer()
      return answer?.status ?? 0
    }
    this.check("receive listens", await until(async () => (await post("")) === 400), output())
    for (const [signature, isRight] of signatures(secret))
      this.check(`signature ${signature}`, (await post(signature)) === (isRight ? 200 : 400), output())
    this.check("receive prints the type", await until(() => output().includes("telco.lookup.completed")), output())
    await this.ask(`/v1/webhooks/${id}/test`, this.target.key, {})
    this.check("an event of the platform", await until(() => output().includes("platform.test")), output())
  }

  private async streams(secret: string, output: () => string): Promise<void> {
    const look = () => this.ask("/v1/telco/lookup/2125560123", this.target.key)
    const isSeen = async () => {
      await look()
      return output().includes("event: telco.lookup.completed")
    }
    this.check("receive follows events", await until(isSeen), output())
    for (const [signature, isRight] of signatures(secret)) {
      const { output, status } = this.run("signature", { SIGNATURE: signature, SECRET: secret })
      this.check(`signature ${signature}`, (status === 0) === isRight, output)
    }
  }

  private async bounces(): Promise<void> {
    const { testKey } = this.target
    // Once for all languages: an account with three bounces is paused.
    const recipient = "bounced@simulator.invalid"
    const email = { from: "ann@demo.test", to: recipient, subject: "Hello", text: "Hi" }
    await this.ask("/v1/send/emails", testKey, email, "guide-bounce")
    let last = ""
    const isListed = () => {
      const { output, status, stdout } = this.run("bounces", { KEY: testKey })
      last = output
      return status === 0 && stdout.includes(recipient) && stdout.includes("permanent")
    }
    this.check("bounces", await until(isListed), last)
  }

  async all(): Promise<void> {
    try {
      this.sends()
      await this.receives()
      await this.bounces()
    } finally {
      rmSync(this.folder, { recursive: true, force: true })
    }
  }
}

/** Runs every program of a language, by another version of it where one is named; failures are sentences. */
export const runGuide = async (
  name: string,
  target: GuideTarget,
  program = guideLanguages[name]!.program
): Promise<{ readonly passed: number; readonly failures: ReadonlyArray<string> }> => {
  const run = new GuideRun(name, { ...guideLanguages[name]!, program }, target)
  await run.all()
  return { passed: run.passed, failures: run.failures }
}
