/** The tests that run blocks of documents without naming each, and the blocks that no test runs, each with its reason. */
import { type Block, blocksOf, isOutput } from "./blocks.ts"
import { followed, speechSteps, steps } from "./steps.ts"

/** A test file that runs blocks, or reads them as what uses them does. */
export interface Claim {
  readonly test: string
  readonly isOf: (block: Block) => boolean
}

const has =
  (document: string, ...texts: ReadonlyArray<string>) =>
  (block: Block): boolean =>
    block.document === document && texts.some((text) => block.text.includes(text))

const isNamed = ({ document, text }: Block): boolean =>
  [...steps, ...speechSteps].some((step) => step.document === document && text.includes(step.has))

/** A block of the steps, or the output beside one. */
const isStep = (block: Block): boolean => {
  if (isNamed(block)) return true
  if (![...steps, ...speechSteps].some(({ document }) => document === block.document)) return false
  const blocks = blocksOf(block.document)
  const before = blocks[blocks.findIndex(({ line }) => line === block.line) - 1]
  return isOutput(block) && before !== undefined && isNamed(before)
}

const isNumbered = (section: RegExp, document: string) => (block: Block) =>
  block.document === document && section.test(block.heading) && ["sh", "json"].includes(block.language)

/** A block in which commands stand that are checked word by word. */
const isCommandLine = ({ language, text }: Block): boolean =>
  language === "sh" && /^(?:\w+=\S+ )*(?:npx --no-install )?sluice /.test(text)

/** Claims in order; the first that fits counts. */
export const claims: ReadonlyArray<Claim> = [
  { test: "test/reference/reference.unit.ts", isOf: ({ document }) => document.startsWith("docs/reference/") },
  { test: "test/clients/guide.ts", isOf: has("docs/quickstart.md", "# endpoint.sh") },
  { test: "test/clients/guide.ts", isOf: ({ document, tab }) => document === "docs/quickstart.md" && tab !== "" },
  { test: "test/clients/readme.ts", isOf: ({ document }) => document === "clients/README.md" },
  { test: "test/documents/requests.e2e.ts", isOf: isStep },
  {
    test: "test/documents/followed.e2e.ts",
    isOf: (block) => followed.some((one) => one.document === block.document && block.text.includes(one.has))
  },
  {
    test: "test/documents/operate.e2e.ts",
    isOf: (block) =>
      block.document === "docs/upgrade.md" ||
      block.text.startsWith("export SLUICE_SECRETS_KEY") ||
      (block.document === "README.md" && block.text.endsWith("sluice orgs list"))
  },
  { test: "test/send/http/documented.e2e.ts", isOf: isNumbered(/^9\.(?:1[013456]|20) /, "docs/platform/send.md") },
  { test: "test/send/senders/reports/reportIntake.it.ts", isOf: isNumbered(/^9\.21 /, "docs/platform/send.md") },
  { test: "test/send/handoff/mailbox/mailbox.e2e.ts", isOf: has("docs/handoff.md", "dev/mailbox/latest") },
  { test: "test/send/http/feedbackHttp.it.ts", isOf: isNumbered(/^9\.17 /, "docs/platform/send.md") },
  {
    test: "test/send/feedback/intake/tours.e2e.ts",
    isOf: ({ document, heading, text }) =>
      document === "docs/operating.md" &&
      (/^(?:Email that leaves|A customer)/.test(heading) || text.includes("hello.wav"))
  },
  { test: "test/cli/whatIfText.unit.ts", isOf: has("docs/what-if.md", "LONGEST WAIT") },
  { test: "test/cli/backup.e2e.ts", isOf: ({ document }) => document === "docs/backup.md" },
  { test: "test/image/main.ts", isOf: has("docs/containers.md", "deploy/Containerfile") },
  { test: "test/deploy/manifests.it.ts", isOf: has("docs/containers.md", "deploy/.env") },
  { test: "test/package/package.e2e.ts", isOf: has("docs/release.md", "npm sbom") },
  { test: "test/cli/proxy.e2e.ts", isOf: has("docs/proxy.md", "# sluice.conf", "# Caddyfile", "/v1/health") },
  {
    test: "test/package/package.e2e.ts",
    isOf: (block) =>
      ["docs/getting-started.md", "docs/durable.md"].includes(block.document) ||
      (block.document === "README.md" && /^npm (?:pack|install)/.test(block.text)) ||
      (block.language === "ts" && /^\/\/ \S+\.ts\n/.test(block.text))
  },
  {
    test: "test/documents/fragments.it.ts",
    isOf: (block) =>
      isCommandLine(block) ||
      has("docs/platform/billing.md", `{"prices"`)(block) ||
      has("docs/cluster.md", "server_name", "SLUICE_PLACEMENT")(block) ||
      has("docs/mcp.md", "mcpServers")(block) ||
      has("docs/runbook.md", "rule_files")(block) ||
      has("docs/handoff.md", `"what": "bounced"`)(block) ||
      has("docs/testing.md", "webhooks: leases")(block) ||
      (block.language === "sh" && /^npm run /.test(block.text))
  }
]

/** Blocks that no test runs: by document and a text of each, and the reason. */
export const unclaimed: ReadonlyArray<readonly [document: string, text: string, reason: string]> = [
  ["README.md", "npm ci && npm start", "the first commands of continuous integration, and of each test's platform"],
  ["README.md", "Starting nats-server", "output, whose lines test/cli has one by one"],
  ["README.md", "npm ci && npm test", "the run that this test is part of"],
  ["docs/CONTRIBUTING.md", "npm ci && npm start", "scripts of package.json, each checked to be there"],
  ["docs/CONTRIBUTING.md", "flowchart TD", "a drawing"],
  ["docs/architecture.md", "ask(organization, command)", "a drawing"],
  ["docs/quickstart.md", "export API=", "variables for the programs of the page"],
  ["docs/quickstart.md", `{"id":"em_`, "the answer that test/clients/guide.ts finds by its state"],
  ["docs/directory.md", `[{"block":"0"`, "its report is not among the bundled files; test/directory has one"],
  ["docs/directory.md", "read 800, added 0", "output for a file of another month; test/cli/ingest.e2e.ts has its form"],
  ["docs/operating.md", "SLUICE_TALK_URL=", "asks a paid service of others; test/talk/upstream has one of its own"],
  ["docs/release.md", "npm audit", "asks the registry, whose answer is another one each day"],
  ["docs/handoff.md", "_report._dmarc.", "a record for name servers of others"],
  ["docs/simulation.md", "--seeds 500 [--of", "a form, no command"],
  ["docs/webhooks.md", "$API/v1/webhooks/portal", "the request of docs/platform/webhooks.md, 6.14, which is run there"]
]
