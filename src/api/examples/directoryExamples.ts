/** Examples of the number directory, telco, talk and system operations. */
import { expectedNumber } from "../../telco/numbers.ts"
import { exampleTime, lastPage, type OperationExamples } from "./OperationExamples.ts"

const carrier = {
  ocn: "9104",
  company_name: "VERIZON NEW YORK, INC.",
  common_name: null,
  carrier_type: "ILEC",
  state: "NY",
  country: "US"
}

const areaCode = {
  npa: "212",
  state: "NY",
  country: "US",
  total_exchanges: 800,
  exchanges: [
    {
      nxx: "200",
      ocn: "384C",
      company_name: "ONVOY, LLC- NY",
      rate_center: "NWYRCYZN01",
      status: "ASSIGNED"
    }
  ],
  pagination: { limit: 1, offset: 0, total: 800 }
}

const health = { status: "healthy", database: "connected", last_ingestion: exampleTime, version: "0.1.0" }

const stats = {
  total_records: 236_992,
  by_country: { US: 192_992, CA: 44_000 },
  by_status: { ASSIGNED: 183_214, UNASSIGNED: 52_120, RESERVED: 1_658 },
  last_updated: { NANPA: exampleTime, CNAC: exampleTime },
  coverage: { area_codes: 437, states_provinces: 69 }
}

const detailed = { ...carrier, exchanges: { total: 2901, by_state: { CT: 15, NY: 2886 } } }

/** The number directory. */
export const directoryExamples = (): OperationExamples => ({
  "directory.listCarriers": { answer: { carriers: [carrier], pagination: { limit: 50, offset: 0, total: 1 } } },
  "directory.getCarrier": { answer: detailed },
  "directory.getCarrierByQuery": { answer: detailed },
  "directory.getAreaCode": { answer: areaCode },
  "directory.getAreaCodeByQuery": { answer: areaCode },
  "directory.getExchange": { answer: { ...areaCode, pagination: { limit: 50, offset: 0, total: 1 } } },
  "directory.listChanges": {
    answer: {
      data: [
        {
          source: "NANPA",
          publication: "2026-07-06",
          ingested_at: exampleTime,
          key: "212-556",
          change: "changed",
          before: { ocn: "9104", status: "ASSIGNED" },
          after: { ocn: "384C", status: "ASSIGNED" }
        }
      ],
      pagination: lastPage
    }
  },
  "directory.health": { answer: health },
  "directory.healthUnversioned": { answer: health },
  "directory.stats": { answer: stats },
  "directory.statsUnversioned": { answer: stats }
})

const lookup = {
  tn: "2125550100",
  npa: "212",
  nxx: "555",
  country: "US",
  state: "NY",
  rateCenter: "DIR ASST",
  status: "RESERVED",
  carrier: null,
  pooled: null,
  carrierBasis: "code",
  timeZones: ["America/New_York"],
  localTimes: ["2025-12-31T19:00:00-05:00"],
  inInventory: false
}

/** Telco and talk. */
export const telcoExamples = (): OperationExamples => ({
  "telco.lookup": { answer: lookup },
  "telco.lookups": {
    body: { numbers: ["2125550100", "12"] },
    answer: { data: [lookup, { error: "invalid_request", message: expectedNumber }] }
  },
  "telco.search": {
    answer: {
      data: [
        {
          npa: "204",
          nxx: "200",
          country: "CA",
          state: "MB",
          rateCenter: "Winnipeg",
          status: "ASSIGNED",
          carrier: { ocn: "4727", companyName: "ISP Telecom Inc.", commonName: null, carrierType: "CLEC" },
          pooled: false,
          carrierBasis: "code"
        }
      ],
      pagination: { limit: 50, offset: 0, total: 1 }
    }
  },
  "talk.speech": { body: { text: "Hello, world.", voice: "en-us" } },
  "talk.voices": {
    answer: { voices: [{ id: "en-us", name: "English (America)", language: "en-us", gender: "male" }] }
  },
  "talk.formats": { answer: { formats: [{ id: "wav", contentType: "audio/wav" }] } }
})

/** Probes and metrics. */
export const systemExamples = (): OperationExamples => ({
  "system.livez": { answer: { status: "alive" } },
  "system.readyz": {
    answer: { status: "ready", checks: { database: { ok: true }, directory: { ok: true } } },
    failures: { 503: { status: "not_ready", checks: { database: { ok: false, detail: "No connection" } } } }
  },
  "system.metrics": { answer: "# TYPE sluice_ready gauge\nsluice_ready 1\n" }
})
