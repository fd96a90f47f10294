/** Blocks of the documents that follow events, and the tour of events in docs/operating.md, as they are written. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { until } from "../cli/support.ts"
import { freePort } from "../support/freePort.ts"
import { patienceMillis } from "../support/patience.ts"
import { useSharedPlatform } from "../support/sharedPlatform.ts"
import { settled } from "./answers.ts"
import { type Block, blocksOf } from "./blocks.ts"
import { DocumentShell } from "./shell.ts"

const platform = useSharedPlatform()

let shell: DocumentShell
let environment: Record<string, string> = {}

const blockWith = (document: string, text: string): Block => {
  const found = blocksOf(document).filter((block) => block.text.includes(text))
  expect(found.length, `${document}: ${text}`).toBe(1)
  return found[0]!
}

beforeAll(async () => {
  const { createKey, process, url } = platform()
  const { key } = await createKey({ services: ["telco"], scopes: ["*"] })
  environment = { API: url, KEY: key, SLUICE_API_URL: url }
  const port = await freePort()
  shell = new DocumentShell(
    globalThis.process.env.SLUICE_TEST_PROGRAM!,
    { HOME: globalThis.process.env.HOME ?? "/", SLUICE_DATA_DIR: process.dataDir },
    { "http://127.0.0.1:8080": url, "localhost:3000": `localhost:${port}`, "listen(3000": `listen(${port}` }
  )
}, patienceMillis)

afterAll(() => shell.close())

const lookUp = async (key = environment.KEY!) =>
  fetch(`${platform().url}/v1/telco/lookup/2125560123`, { headers: { authorization: `Bearer ${key}` } })

/** A line of output with stand-ins for what differs from run to run. */
const settledLine = (line: string): string =>
  line
    .replace(/^\d\d:\d\d:\d\dZ/, "a time")
    .replace(/whsec_\S+/, "a secret")
    .replace(/ +\d+ ms/, " some ms")
    .replace(/ +telco\.\S+ +evt_\S+$/, " an event")

/** Looks numbers up until something has happened. */
const whileLookingUp = async <A>(awaited: Promise<A>): Promise<A> => {
  let isOver = false
  const ended = awaited.finally(() => {
    isOver = true
  })
  const look = async (): Promise<boolean> => {
    expect((await lookUp()).status).toBe(200)
    return isOver
  }
  await Promise.all([ended, until(look)])
  return ended
}

it("[platform 5.5] the command of the event stream follows events", async () => {
  const command = blockWith("docs/platform/events.md", "curl -sN").text
  const output = await whileLookingUp(shell.begin(command, /^event: telco\.lookup\.completed$/m, environment))
  expect(output).toMatch(/^id: evt_/m)
})

it("[platform 3.1] a request over the rate is answered as shown", async () => {
  const shown = blockWith("docs/platform.md", "429 Too Many Requests").text
  const admin = async (method: string, path: string, body: unknown) =>
    (await platform().admin(method, `/admin/v1/organizations${path}`, body)).body as Readonly<Record<string, string>>
  const { id } = await admin("POST", "", { name: "sixty" })
  await admin("PUT", `/${id}/limits`, { requestsPerMinute: 60 })
  const { key } = await admin("POST", `/${id}/keys`, { services: ["telco"], scopes: ["*"] })
  let answer = await lookUp(key)
  await until(async () => {
    if (answer.status === 200) answer = await lookUp(key)
    return answer.status !== 200
  })
  const [head, shownBody] = shown.split("\n\n")
  expect(`HTTP/1.1 ${answer.status} Too Many Requests`).toBe(head!.split("\n")[0])
  for (const line of head!.split("\n").slice(1)) {
    const [name, value] = line.split(": ")
    const own = answer.headers.get(name!)
    expect(own, name).toMatch(/^\d+$/)
    if (/limit$|remaining/.test(name!)) expect(own).toBe(value)
  }
  expect(settled(await answer.json(), [])).toEqual(settled(JSON.parse(shownBody!), []))
})

it("the tour of events in docs/operating.md: the log, an endpoint, and a program that listens", async () => {
  const tour = (text: string): string => blockWith("docs/operating.md", text).text
  const looked = tour("?type=telco.*'")
  // Two answers, the second one of the event log, which may have the event a moment late.
  const logged = async () => {
    const printed = await shell.run(looked, environment)
    return JSON.parse(printed.slice(printed.indexOf('{"data":[')))
  }
  await until(async () => (await logged()).data.length > 0)
  const [event] = (await logged()).data
  expect(settled(event, [])).toEqual(settled(JSON.parse(tour("evt_00040000-0001")).data[0], []))

  const arrival = shell.begin(tour("q.pipe(process.stdout)").replace(/ &$/, ""), /telco\.lookup\.completed.*\}/)
  const created = JSON.parse(await shell.run(tour(`"url": "http://localhost:3000/hook"`), environment))
  expect(settled(created, [])).toEqual(settled(JSON.parse(tour(`"url":"http://localhost:3000/hook"`)), []))
  const arrived = await whileLookingUp(arrival)
  expect(settled(JSON.parse(arrived.split("\n")[0]!.replace(/\}\{.*$/, "}")), [])).toEqual(
    settled(JSON.parse(tour("evt_00040000-0002")), [])
  )

  const listening = shell.begin(tour("sluice listen --forward-to"), /^\d\d:\d\d:\d\dZ .*$/m, environment)
  const printed = (await whileLookingUp(listening)).trim().split("\n").slice(0, 3)
  expect(printed.map(settledLine)).toEqual(shell.here(tour("Ready: forwarding")).split("\n").map(settledLine))
})
