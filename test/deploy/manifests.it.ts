/**
 * The files of `deploy/` for Compose, Kubernetes and systemd, read as their programs read them: every variable is a setting
 * with a value that a start takes, the servers' configurations start real servers, and probes ask paths that answer.
 */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { it as effect } from "@effect/vitest"
import { Effect, Redacted, Result } from "effect"
import { describe, expect, it } from "vitest"
import { parse, parseAllDocuments } from "yaml"
import { resolveConfig } from "../../src/config/settings.ts"
import { connectNats } from "../../src/nats/connection.ts"
import { startServer, temporaryFolder } from "../nats/support.ts"
import { needing } from "../support/needs.ts"

const root = new URL("../../", import.meta.url).pathname
const text = (file: string) => readFileSync(join(root, file), "utf8")

const secrets: Readonly<Record<string, string>> = {
  POSTGRES_PASSWORD: "0123456789abcdef",
  NATS_PASSWORD: "nats_0123456789abcdef",
  ROUTE_PASSWORD: "route_0123456789abcdef",
  SLUICE_SECRETS_KEY: "5e".repeat(32),
  SLUICE_ADMIN_KEY: `adm_${"a1".repeat(12)}`
}

it("the variables of the files are those that the guide makes", () => {
  const [, made] = /cat > deploy\/\.env <<END\n([\s\S]*?)\nEND\n/.exec(text("docs/containers.md"))!
  expect(made!.split("\n").map((line) => line.split("=")[0])).toEqual(Object.keys(secrets))
})

/** As Compose replaces variables: `${NAME}`, `${NAME:?}` and `${NAME:-default}`. */
const interpolated = (file: string): string =>
  text(file).replaceAll(/\$\{(\w+)(?::\?|:-([^}]*))?\}/g, (whole, name: string, fallback?: string) => {
    const value = secrets[name] ?? fallback
    if (value === undefined) throw new Error(`${file} needs ${whole}, which docs/containers.md does not make`)
    return value
  })

interface ComposeService {
  readonly image: string
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: ReadonlyArray<string>
  readonly depends_on?: Readonly<Record<string, unknown>> | ReadonlyArray<string>
  readonly command?: ReadonlyArray<string>
  readonly read_only?: boolean
  readonly stop_grace_period?: string
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes: Readonly<Record<string, null>>
}

/** The settings that the image itself gives. */
const ofImage = Object.fromEntries(
  [...text("deploy/Containerfile").matchAll(/^ENV (.*)$/gm)]
    .flatMap(([, pairs]) => pairs!.split(" "))
    .filter((pair) => /^(SLUICE_|NODE_ENV)/.test(pair))
    .map((pair) => pair.split("=") as [string, string])
)

/** What a start with these variables is configured to; fails with every fault, and for what is no setting. */
const configured = (environment: Readonly<Record<string, string>>) => {
  const { config, unknown } = Result.getOrThrow(resolveConfig({ ...ofImage, ...environment }))
  expect(unknown).toEqual([])
  return config
}

describe.each(["deploy/compose.yaml", "deploy/compose.cluster.yaml"])("%s", (file) => {
  const { services, volumes }: Compose = parse(interpolated(file), { merge: true })
  const nodes = Object.entries(services).filter(([, { image }]) => image.startsWith("sluice:"))

  it("gives each node settings that a start takes, and room to stop", () => {
    expect(nodes.length).toBe(file.includes("cluster") ? 3 : 1)
    for (const [, node] of nodes) {
      const config = configured(node.environment!)
      expect(config.host).toBe("0.0.0.0")
      expect(new URL(Redacted.value(config.databaseUrl!)).password).toBe(secrets.POSTGRES_PASSWORD)
      expect(Redacted.value(config.natsUrl!)).toContain(secrets.NATS_PASSWORD)
      expect(node.read_only).toBe(true)
      expect(Number.parseInt(node.stop_grace_period!, 10)).toBeGreaterThanOrEqual(40)
    }
    const names = nodes.map(([, { environment }]) => environment!.SLUICE_NODE)
    expect(new Set(names).size).toBe(nodes.length)
  })

  it("names no service, volume or file that is not there, and no image without a version", () => {
    for (const [name, { depends_on, environment, image, volumes: mounts }] of Object.entries(services)) {
      expect(image, name).toMatch(/:\d/)
      for (const needed of Array.isArray(depends_on) ? depends_on : Object.keys(depends_on ?? {}))
        expect(services, name).toHaveProperty([needed])
      for (const [from] of (mounts ?? []).map((mount) => mount.split(":")))
        if (from!.startsWith(".")) expect(text(join("deploy", from!)).length).toBeGreaterThan(0)
        else expect(volumes, name).toHaveProperty([from!])
      const hosts = [...JSON.stringify(environment ?? {}).matchAll(/(?:nats|postgres):\/\/(?:[^@",]*@)?([\w-]+):\d/g)]
      for (const [, host] of hosts) expect(services, name).toHaveProperty([host!])
    }
  })

  it("gives the servers of NATS every variable that their configuration asks for", () => {
    const configuration = file.includes("cluster") ? ["nats.cluster.conf", "nats.conf"] : ["nats.conf"]
    const asked = configuration.flatMap((name) =>
      [...text(`deploy/${name}`).matchAll(/(?<![".\w])\$([A-Z][A-Z_0-9]*)/g)].map(([, variable]) => variable!)
    )
    const servers = Object.values(services).filter(({ image }) => image.startsWith("nats:"))
    expect(servers.length).toBe(file.includes("cluster") ? 3 : 1)
    for (const { environment } of servers) expect(Object.keys(environment!)).toEqual(expect.arrayContaining(asked))
  })
})

/** Puts the configuration of a server where a container has it, with ports of this machine. */
const placed = async (folder: string, name: string): Promise<string> => {
  await copyFile(join(root, "nats.conf"), join(folder, "base.conf"))
  await copyFile(join(root, "deploy/nats.conf"), join(folder, "nats.conf"))
  return (await readFile(join(root, "deploy", name), "utf8"))
    .replace("0.0.0.0:4222", "127.0.0.1:-1")
    .replace("0.0.0.0:6222", "127.0.0.1:-1")
}

effect.live("the server of a container lets the platform in, and shows that it syncs always", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const configuration = yield* Effect.promise(() => placed(folder, "nats.conf"))
    const port = yield* startServer(
      `${configuration}\njetstream { store_dir: "${folder}/store", sync_interval: always }`,
      {
        folder,
        environment: { NATS_PASSWORD: secrets.NATS_PASSWORD! }
      }
    )
    const { server } = yield* connectNats({
      url: Redacted.make(`nats://sluice:${secrets.NATS_PASSWORD}@127.0.0.1:${port}`)
    })
    expect(server.sync).toBe("always")
    const stranger = connectNats({ url: Redacted.make(`nats://127.0.0.1:${port}`) })
    expect((yield* Effect.flip(Effect.scoped(stranger)))._tag).toBe("NatsAuthenticationFailed")
  })
)

describe("deploy/kubernetes/sluice.yaml", () => {
  // Its objects have no common type.
  // biome-ignore lint/suspicious/noExplicitAny: read as Kubernetes does, field by field
  const objects: ReadonlyArray<any> = parseAllDocuments(text("deploy/kubernetes/sluice.yaml")).map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS()
  })
  const find = (kind: string, name: string) => objects.find((one) => one.kind === kind && one.metadata.name === name)
  const secret: Readonly<Record<string, string>> = find("Secret", "sluice").stringData

  interface Variable {
    readonly name: string
    readonly value?: string
    readonly valueFrom?: {
      readonly fieldRef?: { readonly fieldPath: string }
      readonly secretKeyRef?: { readonly name: string; readonly key: string }
    }
  }

  /** The environment of a container: `$(NAME)` stands for an earlier variable. */
  const environmentOf = (variables: ReadonlyArray<Variable>): Record<string, string> => {
    const made: Record<string, string> = {}
    for (const { name, value, valueFrom } of variables) {
      const key = valueFrom?.secretKeyRef?.key
      if (key !== undefined) expect(secret).toHaveProperty([key])
      made[name] =
        value?.replaceAll(/\$\((\w+)\)/g, (_, earlier: string) => {
          expect(made).toHaveProperty([earlier])
          return made[earlier]!
        }) ?? (key === undefined ? "pod-0" : secret[key]!)
    }
    return made
  }

  const node = find("Deployment", "sluice").spec.template.spec
  const server = find("StatefulSet", "nats").spec.template.spec

  it("gives a node settings that a start takes", () => {
    const { NATS_PASSWORD, ...environment } = environmentOf(node.containers[0].env)
    expect(NATS_PASSWORD).toBe(secret.NATS_PASSWORD)
    // As it stands nobody can start with keys that everybody knows.
    expect(Result.isFailure(resolveConfig(environment))).toBe(true)
    for (const value of Object.values(secret)) expect(value).toContain("change-me")
    const keys = { SLUICE_SECRETS_KEY: secrets.SLUICE_SECRETS_KEY!, SLUICE_ADMIN_KEY: secrets.SLUICE_ADMIN_KEY! }
    expect(configured({ ...environment, ...keys })).toMatchObject({
      placement: "cluster",
      partitions: 12,
      node: "pod-0"
    })
    expect(node.enableServiceLinks).toBe(false)
    expect(node.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(40)
  })

  it("runs neither as root nor with a root file system that can be written, and mounts what is there", () => {
    for (const { containers, securityContext, volumes } of [node, server]) {
      expect(securityContext.runAsNonRoot).toBe(true)
      expect(containers[0].securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] }
      })
      const claims = find("StatefulSet", "nats").spec.volumeClaimTemplates
      const there = [...volumes, ...claims.map((claim: { metadata: object }) => claim.metadata)].map(({ name }) => name)
      for (const { name } of containers[0].volumeMounts) expect(there).toContain(name)
    }
  })

  it("asks for health where it answers, at ports that have names", () => {
    const paths = [node, server].flatMap(({ containers: [{ livenessProbe, ports, readinessProbe, startupProbe }] }) =>
      [startupProbe, readinessProbe, livenessProbe].map(({ httpGet: { path, port } }) => {
        expect(ports.map(({ name }: { name: string }) => name)).toContain(port)
        return path
      })
    )
    expect(paths.slice(0, 3)).toEqual(["/livez", "/readyz", "/livez"])
  })

  it("selects the pods that it means", () => {
    for (const { kind, spec } of objects.filter((one) => ["Deployment", "StatefulSet"].includes(one.kind)))
      expect(spec.template.metadata.labels, kind).toEqual(spec.selector.matchLabels)
    for (const { metadata, spec } of objects.filter((one) => ["Service", "PodDisruptionBudget"].includes(one.kind)))
      expect(spec.selector.matchLabels ?? spec.selector).toEqual({ app: metadata.name })
  })

  effect.live("has a configuration on which a server starts that syncs always", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const configuration: string = find("ConfigMap", "nats").data["nats.conf"]
      const local = configuration
        .replace("0.0.0.0:4222", "127.0.0.1:-1")
        .replace("0.0.0.0:8222", "127.0.0.1:-1")
        // One server alone: a cluster of three that is not there would never elect a leader.
        .replace(/cluster \{[\s\S]*\n\}/, "")
        .replace('"/data"', `"${folder}/store"`)
      expect(local).not.toContain("0.0.0.0")
      const environment = environmentOf(server.containers[0].env)
      const port = yield* startServer(local, { folder, environment })
      const url = Redacted.make(`nats://sluice:${secret.NATS_PASSWORD}@127.0.0.1:${port}`)
      expect((yield* connectNats({ url })).server.sync).toBe("always")
    })
  )
})

describe("the units of systemd", () => {
  const unit = (name: string): Readonly<Record<string, ReadonlyArray<string>>> => {
    const found: Record<string, Array<string>> = {}
    for (const line of text(`deploy/systemd/${name}`).split("\n")) {
      if (line === "" || line.startsWith("#")) continue
      expect(line).toMatch(/^(\[\w+\]|[A-Z]\w+=.*)$/)
      const [key, ...value] = line.split("=")
      if (value.length > 0) found[key!] = [...(found[key!] ?? []), value.join("=")]
    }
    return found
  }

  it("start what the package has, with settings, and leave it time to stop", () => {
    const { Environment, ExecStart, TimeoutStopSec, User } = unit("sluice.service")
    expect(ExecStart![0]).toMatch(/\/node_modules\/sluice\/bin\/sluice\.js serve$/)
    expect(User).toEqual(["sluice"])
    expect(Number(TimeoutStopSec![0])).toBeGreaterThanOrEqual(40)
    configured(Object.fromEntries(Environment![0]!.split(" ").map((pair) => pair.split("=") as [string, string])))
    expect(unit("nats.service").ExecStart).toEqual([
      "/usr/local/bin/nats-server -c /etc/nats.conf --store_dir /var/lib/nats"
    ])
  })
})

it("nginx takes the balancer's configuration", needing("nginx"), async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-balancer-"))
  try {
    const file = join(folder, "nginx.conf")
    // The names are those of containers.
    const configuration = text("deploy/balancer.conf").replaceAll(/sluice-(\d):8080/g, "127.0.0.$1:8080")
    await writeFile(file, `pid ${folder}/pid; error_log ${folder}/log;\n${configuration}`)
    const environment = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` }
    const { stderr } = spawnSync("nginx", ["-t", "-c", file], { encoding: "utf8", env: environment })
    expect(stderr).toContain("test is successful")
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
