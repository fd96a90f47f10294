/** Gives examples of commands, for `--help` and docs/reference/commands.md. */

/** A command line, and its effect. */
export type CommandExample = readonly [command: string, meaning: string]

/** By command. */
export const commandExamples: Readonly<Record<string, ReadonlyArray<CommandExample>>> = {
  sluice: [
    ["sluice serve", "start the platform; stop it with Ctrl-C"],
    ["sluice orgs create Acme", "make an organization"],
    ["sluice help keys create", "the flags of a command"]
  ],
  "sluice serve": [
    ["sluice serve --port 8081", "on another port, with servers of its own"],
    ["SLUICE_DEVELOPMENT=on sluice serve", "with a demo organization and a local mailbox"],
    ["DATABASE_URL=… NATS_URL=… sluice serve", "on servers that run already"]
  ],
  "sluice ingest": [
    ["sluice ingest ./nanpa.zip ./carriers.txt", "newer files, once they are complete"],
    ["sluice ingest ./nanpa.zip --dry-run", "the changes of a file, without making them"]
  ],
  "sluice lookup": [
    ["sluice lookup < numbers.csv > results.csv", "the first column of each line; no organization counts it"]
  ],
  "sluice orgs": [["sluice orgs list", "every organization"]],
  "sluice orgs create": [["sluice orgs create Acme --plan team --send-plan pro", "with larger limits"]],
  "sluice orgs list": [["sluice orgs list --json", "for programs"]],
  "sluice orgs show": [["sluice orgs show org_1a2b", "one organization"]],
  "sluice orgs set-plan": [["sluice orgs set-plan org_1a2b --plan team", "in force at its next request"]],
  "sluice orgs set-limits": [["sluice orgs set-limits org_1a2b --requests-per-minute 5000", "in place of the plan's"]],
  "sluice orgs delete": [["sluice orgs delete org_1a2b --name Acme", "for good"]],
  "sluice keys": [["sluice keys list --org org_1a2b", "the keys of an organization"]],
  "sluice keys create": [
    ["sluice keys create --org org_1a2b --services send --test", "a test key that sends"],
    ["sluice keys create --org org_1a2b --services all --scopes all", "a key that may do everything"]
  ],
  "sluice keys list": [["sluice keys list --org org_1a2b", "newest first"]],
  "sluice keys revoke": [["sluice keys revoke key_1a2b", "at once, on every node"]],
  "sluice console": [["sluice console --org org_1a2b", "an address that signs in, once"]],
  "sluice people": [["sluice people list --org org_1a2b", "who signs in to its console"]],
  "sluice people list": [["sluice people list --org org_1a2b", "invited ones too"]],
  "sluice people invite": [["sluice people invite --org org_1a2b --role owner ann@example.com", "mails a link"]],
  "sluice people remove": [["sluice people remove mem_1a2b", "its sessions end"]],
  "sluice sites": [["sluice sites list --org org_1a2b", "the credentials of other sites"]],
  "sluice sites create": [["sluice sites create --org org_1a2b", "shown once"]],
  "sluice sites list": [["sluice sites list --org org_1a2b", "newest first"]],
  "sluice sites revoke": [["sluice sites revoke sic_1a2b", "from its next request on"]],
  "sluice invoices": [["sluice invoices list", "those that wait for payment"]],
  "sluice invoices list": [
    ["sluice invoices list --json", "for programs"],
    ["sluice invoices list --status any --month 2026-11", "all of a month"]
  ],
  "sluice requests": [["sluice requests list --org org_1a2b", "what its keys asked for"]],
  "sluice requests list": [["sluice requests list --org org_1a2b --status 4xx --hours 24", "the failures of a day"]],
  "sluice requests show": [["sluice requests show rq_1a2b --org org_1a2b", "with the bodies of a failure"]],
  "sluice audit": [["sluice audit list", "what operators did"]],
  "sluice audit list": [
    ["sluice audit list --act send.lifted --hours 168", "the pauses that operators lifted in a week"],
    ["sluice audit list --org org_1a2b", "all acts on an organization"]
  ],
  "sluice invoices pay": [["sluice invoices pay in_1a2b", "the plan is in force"]],
  "sluice invoices fail": [["sluice invoices fail in_1a2b", "the grace begins"]],
  "sluice numbers": [["sluice numbers list --org org_1a2b", "an organization's own numbers"]],
  "sluice numbers import": [["sluice numbers import numbers.txt --org org_1a2b", "a number a line"]],
  "sluice numbers list": [["sluice numbers list --org org_1a2b", "ascending"]],
  "sluice numbers remove": [["sluice numbers remove 2125550100 --org org_1a2b", "one number"]],
  "sluice send": [["sluice send show --org org_1a2b", "how far an account may go, and why"]],
  "sluice send show": [["sluice send show --org org_1a2b", "with the facts of a pause"]],
  "sluice send lift": [["sluice send lift --org org_1a2b", "probation begins again"]],
  "sluice send risk": [["sluice send risk higher --org org_1a2b", "in force at the next decision"]],
  "sluice send limits": [["sluice send limits --help", "the limits that can be set"]],
  "sluice send cap": [["sluice send cap --help", "a sender's daily cap"]],
  "sluice domains": [["sluice domains verify --help", "by its records, or unchecked"]],
  "sluice domains verify": [["sluice domains verify example.com --org org_1a2b", "by its records"]],
  "sluice domains show": [["sluice domains show example.com --org org_1a2b", "what its records lack"]],
  "sluice domains reports": [
    ["sluice domains reports example.com --org org_1a2b", "from where mail of it came, and what failed"],
    ["sluice domains reports example.com --org org_1a2b --kind tls --days 7", "encryption of mail to it"]
  ],
  "sluice feedback": [["sluice feedback import ./bounces", "reports that were collected as files"]],
  "sluice feedback import": [["sluice feedback import ./bounces", "a folder of mails"]],
  "sluice suppressions": [["sluice suppressions export", "the list of the account of SLUICE_API_KEY, as CSV"]],
  "sluice suppressions export": [
    ["sluice suppressions export --origin bounce", "addresses that bounced for good, oldest first"]
  ],
  "sluice suppressions import": [["sluice suppressions import list.csv", "an address a line; safe to repeat"]],
  "sluice what-if": [
    ["sluice what-if --org org_1a2b --since 7d --probation-hour 100", "last week with a wider cap"],
    ["sluice what-if --org org_1a2b --pause-spike 0 --csv", "thirty days without pauses by a spike"]
  ],
  "sluice listen": [["sluice listen --forward-to http://127.0.0.1:3000/hook", "every event, signed"]],
  "sluice mcp": [
    ["SLUICE_API_KEY=sk_test_… sluice mcp", "tools that read, with a test key"],
    ["SLUICE_API_KEY=sk_test_… sluice mcp --allow-write", "tools that write too"]
  ],
  "sluice trigger": [["sluice trigger send.email.bounced --org org_1a2b", "an example, as a test event"]],
  "sluice config": [["sluice config", "the values in force, secrets redacted"]],
  "sluice doctor": [
    ["sluice doctor", "the machine and servers of its own"],
    ["sluice doctor --json", "for programs; exit code 1 if a check has failed"]
  ],
  "sluice migrate": [["sluice migrate --runtime-role sluice_app", "as the owner, whom DATABASE_URL names"]],
  "sluice migrate plan": [["sluice migrate plan", "what is missing"]],
  "sluice inspect": [["sluice inspect partition 0", "status, cursors and the last facts"]],
  "sluice inspect partition": [["sluice inspect partition 0", "the first partition"]],
  "sluice inspect org": [["sluice inspect org org_1a2b", "plans, limits and the last facts"]],
  "sluice inspect actor": [["sluice inspect actor --help", "how an actor is named"]],
  "sluice cluster": [["sluice cluster status", "nodes, partitions and lag"]],
  "sluice cluster status": [["sluice cluster status --json", "for programs"]],
  "sluice cluster drain": [["sluice cluster drain node-1", "before its machine is worked on"]],
  "sluice cluster replicate": [["sluice cluster replicate", "once there are three NATS servers"]],
  "sluice parked": [["sluice parked list", "organizations with parked records"]],
  "sluice parked list": [["sluice parked list", "where a reactor has failed"]],
  "sluice parked show": [["sluice parked show org_1a2b", "the errors, one by one"]],
  "sluice parked retry": [["sluice parked retry org_1a2b", "in order, until one fails"]],
  "sluice parked dismiss": [["sluice parked dismiss --help", "the meaning of giving a record up"]],
  "sluice recover": [["sluice recover --partition 0", "why it refuses to start"]],
  "sluice backup": [
    ["sluice backup /mnt/backups", "both stores, while the platform runs; the next one copies only what is new"],
    ["sluice backup /mnt/backups --keep 48 --rate 16", "two days of one an hour, read at 16 MiB/s"]
  ],
  "sluice backup verify": [
    ["sluice backup verify /mnt/backups", "the newest one"],
    ["sluice backup verify /mnt/backups --at 20260131T090500123Z", "an earlier one"]
  ],
  "sluice restore": [
    ["SLUICE_DATA_DIR=./restored sluice restore /mnt/backups", "into embedded servers of a new data folder"],
    ["DATABASE_URL=… NATS_URL=… SLUICE_SECRETS_KEY=… sluice restore /mnt/backups", "into empty servers of your own"],
    ["sluice restore /mnt/backups --only postgres", "beside a log that was not lost"]
  ],
  "sluice simulate": [["sluice simulate --file rules.ts", "rules of your own, under faults"]]
}
