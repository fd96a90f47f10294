/**
 * Incidents written by hand, one for each alert, each beside figures that are nearly as bad and raise nothing. The incidents that a test can
 * produce in a real platform are recorded there as well (`incident.e2e.ts`).
 */
import type { AlertCase, Series } from "./promtool.ts"

const one = (series: string, values: string): ReadonlyArray<Series> => [{ series, values }]

const day = 86_400

/** Figures of mail: accepted mails a minute, and reports a minute. */
const mail = (handedOver: number, what: string, reports: number): ReadonlyArray<Series> => [
  {
    series: 'sluice_send_handoffs_total{outcome="handed_over",transport="smtp",purpose="live"}',
    values: `0+${handedOver}x800`
  },
  {
    series: `sluice_send_reports_total{what="${what}",kind="${what === "bounced" ? "permanent" : "abuse"}",by="feedback"}`,
    values: `0+${reports}x800`
  }
]

/** Partition 0 on a node and partition 1 on another one, which is served for so long. */
const partitions = (served: string): ReadonlyArray<Series> => [
  { series: 'sluice_partitions{instance="a"}', values: "2x60" },
  { series: 'sluice_partition_owned{instance="a",partition="0"}', values: "1x60" },
  { series: 'sluice_owned_not_serving{instance="a",partition="0"}', values: "0x60" },
  { series: 'sluice_partition_owned{instance="b",partition="1"}', values: served },
  { series: 'sluice_owned_not_serving{instance="b",partition="1"}', values: served.replaceAll("1x", "0x") }
]

/** The alert by name, the bad figures, and when they raise it; figures that raise nothing at that time. */
const cases: ReadonlyArray<
  readonly [alert: string, bad: ReadonlyArray<Series>, minute: number, good: ReadonlyArray<Series>]
> = [
  ["SluiceNotReady", one("sluice_ready", "1x5 0x20"), 8, one("sluice_ready", "1x7 0x0 1x20")],
  [
    "SluiceCheckFailing",
    one('sluice_check_ok{check="disk"}', "0x20"),
    6,
    one('sluice_check_ok{check="directory"}', "0x3 1x20")
  ],
  // The node is gone, and so are its series.
  ["SluicePartitionDown", partitions("1x10"), 20, partitions("1x60")],
  [
    "SluicePartitionDown",
    [
      { series: "sluice_partitions", values: "1x20" },
      { series: 'sluice_partition_owned{partition="0"}', values: "1x20" },
      { series: 'sluice_owned_not_serving{partition="0"}', values: "0x5 1x20" }
    ],
    9,
    // It moves from one node to the other.
    [
      { series: "sluice_partitions", values: "1x20" },
      { series: 'sluice_partition_owned{instance="a",partition="0"}', values: "1x5 0x20" },
      { series: 'sluice_owned_not_serving{instance="a",partition="0"}', values: "0x20" },
      { series: 'sluice_partition_owned{instance="b",partition="0"}', values: "_x5 1x20" },
      { series: 'sluice_owned_not_serving{instance="b",partition="0"}', values: "_x5 0x20" }
    ]
  ],
  [
    "SluiceRestartLoop",
    one("process_start_time_seconds", "0x2 100x2 250x2 400x20"),
    9,
    one("process_start_time_seconds", "0x2 100x2 250x20")
  ],
  [
    "SluicePartitionRestartLoop",
    one('sluice_restarts_total{partition="3"}', "0 1 2 3 4 4x20"),
    10,
    one('sluice_restarts_total{partition="3"}', "0 1 1 1 1 1x20")
  ],
  [
    "SluiceEventLoopBusy",
    one("nodejs_eventloop_active_seconds_total", "0+59x40"),
    30,
    one("nodejs_eventloop_active_seconds_total", "0+40x40")
  ],
  ["SluiceNatsAway", one("sluice_nats_connected", "1x3 0x20"), 6, one("sluice_nats_connected", "1x5 0x0 1x20")],
  [
    "SluiceNatsRefusesWrites",
    one("sluice_nats_refusing_logs", "0x3 8x20"),
    6,
    one("sluice_nats_refusing_logs", "0x30")
  ],
  [
    "SluiceLogFilling",
    one('sluice_log_fill_ratio{partition="1"}', "0.71x20"),
    6,
    one('sluice_log_fill_ratio{partition="1"}', "0.69x20")
  ],
  [
    "SluiceCheckpointOld",
    one('sluice_checkpoint_age_seconds{partition="1"}', "0+60x40"),
    25,
    one('sluice_checkpoint_age_seconds{partition="1"}', "890x40")
  ],
  [
    "SluiceReactorBehind",
    one('sluice_cursor_lag_frames{partition="0",reactor="events"}', "0+500x40"),
    15,
    // It catches up.
    one('sluice_cursor_lag_frames{partition="0",reactor="events"}', "20000-500x40")
  ],
  [
    "SluiceParkedRecords",
    one('sluice_parked_records{partition="0",reactor="events"}', "0x2 1x20"),
    9,
    one('sluice_parked_records{partition="0",reactor="events"}', "0x2 1x2 0x20")
  ],
  [
    "SluiceQuarantine",
    one('sluice_quarantined_organizations{partition="0"}', "1x20"),
    3,
    one('sluice_quarantined_organizations{partition="0"}', "0x20")
  ],
  [
    "SluiceClockWrong",
    one('sluice_clock_ahead_seconds{reference="NATS"}', "-3x20"),
    4,
    one('sluice_clock_ahead_seconds{reference="NATS"}', "1.5x20")
  ],
  [
    "SluicePostgresAway",
    one('sluice_check_ok{check="database"}', "1x3 0x20"),
    6,
    one('sluice_check_ok{check="database"}', "1x5 0x0 1x20")
  ],
  [
    "SluicePostgresConnections",
    [...one("sluice_postgres_connections", "90x20"), ...one("sluice_postgres_connections_allowed", "97x20")],
    6,
    [...one("sluice_postgres_connections", "80x20"), ...one("sluice_postgres_connections_allowed", "97x20")]
  ],
  ["SluiceDiskFilling", one("sluice_disk_free_ratio", "0.09x20"), 12, one("sluice_disk_free_ratio", "0.11x20")],
  [
    "SluiceDirectoryOld",
    // Time begins at 0 in these tests.
    one('sluice_directory_ingested_timestamp_seconds{kind="NANPA"}', `${-90 * day}x100`),
    62,
    one('sluice_directory_ingested_timestamp_seconds{kind="CNAC"}', `${-89 * day}x100`)
  ],
  [
    "SluiceRelayDown",
    one('sluice_check_ok{check="mail"}', "0x20"),
    6,
    one('sluice_check_ok{check="mail"}', "0x4 1x20")
  ],
  [
    "SluiceRelayCertificate",
    one("sluice_send_relay_certificate_expiry_timestamp_seconds", `${13 * day}x100`),
    61,
    one("sluice_send_relay_certificate_expiry_timestamp_seconds", `${15 * day}x100`)
  ],
  [
    "SluiceMailWaits",
    one('sluice_send_oldest_due_seconds{partition="0"}', "0+60x40"),
    22,
    one('sluice_send_oldest_due_seconds{partition="0"}', "800x40")
  ],
  ["SluiceBounces", mail(10, "bounced", 1), 90, mail(100, "bounced", 1)],
  // Of a few mails a rate says nothing.
  ["SluiceBounces", mail(10, "bounced", 1), 90, mail(1, "bounced", 1)],
  ["SluiceComplaints", mail(50, "complained", 1), 400, mail(2_000, "complained", 1)],
  [
    "SluiceWebhooksWait",
    one('sluice_webhook_oldest_due_seconds{partition="0"}', "0+60x40"),
    12,
    one('sluice_webhook_oldest_due_seconds{partition="0"}', "200x40")
  ],
  [
    "SluiceEndpointsPaused",
    one('sluice_webhook_paused_endpoints{partition="0"}', "3x80 9x80"),
    90,
    // They have been paused for long.
    one('sluice_webhook_paused_endpoints{partition="0"}', "9x160")
  ]
]

/** The cases for promtool: in the bad figures the alert fires, in the good ones nothing does. */
export const alertCases: ReadonlyArray<AlertCase> = cases.flatMap(([alert, bad, minute, good]) => [
  { name: `${alert} fires`, input: bad, firing: { 0: [], [minute]: [alert] } },
  { name: `${alert} does not fire`, input: good, firing: { [minute]: [] } }
])

/** The alerts that have a case. */
export const testedAlerts: ReadonlySet<string> = new Set(cases.map(([alert]) => alert))
