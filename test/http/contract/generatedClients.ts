/** Two widespread generators read `openapi.json`; what they make compiles with `strict`, sends an email and reads an area code. */
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdir, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import { patienceMillis } from "../../support/patience.ts"
import type { World } from "./world.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))

const folder = join(tmpdir(), `sluice-generated-${randomUUID()}`)

const run = async (program: string, args: ReadonlyArray<string>, environment: Record<string, string> = {}) => {
  try {
    const env = { ...process.env, ...environment }
    return (await promisify(execFile)(program, args, { cwd: folder, env })).stdout
  } catch (error) {
    const { stderr, stdout } = error as { readonly stderr: string; readonly stdout: string }
    throw new Error(`${program} ${args.join(" ")}\n${stdout}${stderr}`)
  }
}

const mail = `{ from: process.env.FROM!, to: "bob@example.com", subject: "Hello", text: "Hi Bob" }`

const programs = {
  "openapi-typescript": `import createClient from "openapi-fetch"
import type { paths } from "./paths.ts"

const headers = { Authorization: \`Bearer \${process.env.KEY}\` }
const client = createClient<paths>({ baseUrl: process.env.API!, headers })
const sent = await client.POST("/v1/send/emails", { body: ${mail} })
const area = await client.GET("/v1/npa/{npa}", { params: { path: { npa: "212" }, query: { limit: 1 } } })
const unknown = await client.GET("/v1/carrier/{ocn}", { params: { path: { ocn: "ZZZ9" } } })
console.log(JSON.stringify([sent.data?.state, area.data?.exchanges.length, unknown.error?.error]))
`,
  "hey-api": `import { client } from "./hey/client.gen.ts"
import { directoryGetAreaCode, directoryGetCarrier, emailsCreate } from "./hey/index.ts"

client.setConfig({ baseUrl: process.env.API!, auth: () => process.env.KEY! })
const sent = await emailsCreate({ body: ${mail} })
const area = await directoryGetAreaCode({ path: { npa: "212" }, query: { limit: 1 } })
const unknown = await directoryGetCarrier({ path: { ocn: "ZZZ9" } })
console.log(JSON.stringify([sent.data?.state, area.data?.exchanges.length, unknown.error?.error]))
`
}

const settings = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: "es2023",
    module: "nodenext",
    lib: ["es2023", "dom", "dom.iterable"],
    types: ["node"],
    skipLibCheck: true,
    allowImportingTsExtensions: true
  }
}

export const generatedClientsSection = (world: () => World): void => {
  const generator = (name: string) => `${root}.toolchain/node_modules/.bin/${name}`
  const description = `${root}openapi.json`

  beforeAll(async () => {
    await mkdir(folder)
    await symlink(`${root}node_modules`, `${folder}/node_modules`)
    const files = {
      "package.json": `{"type":"module"}`,
      "tsconfig.json": JSON.stringify(settings),
      "generate.config.js": `export default ${JSON.stringify({
        input: description,
        output: { path: "hey", module: { extension: ".ts" } },
        plugins: ["@hey-api/typescript", "@hey-api/sdk", "@hey-api/client-fetch"],
        logs: { level: "silent" }
      })}`
    }
    const named = Object.entries(programs).map(([name, text]) => [`${name}.ts`, text])
    for (const [name, text] of [...Object.entries(files), ...named]) await writeFile(`${folder}/${name}`, text!)
    await Promise.all([
      run(generator("openapi-typescript"), [description, "--output", "paths.ts"]),
      run(generator("openapi-ts"), ["--file", "generate.config.js"])
    ])
    await run("tsc", ["-p", "."])
  }, patienceMillis)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it.each(Object.keys(programs))("one by %s sends an email, reads an area code and types an error", async (name) => {
    const account = await world().account()
    await account.has.domain()
    const environment = { API: world().url, KEY: account.key, FROM: `ann@${account.sendsFrom}` }
    const output = await run(process.execPath, [`${name}.ts`], environment)
    expect(JSON.parse(output)).toEqual(["queued", 1, "not_found"])
  })
}
