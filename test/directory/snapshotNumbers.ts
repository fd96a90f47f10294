/**
 * Numbers of the bundled snapshot (NANPA code assignments and NPA report of 2026-07-06, CNAC code status of 2025-09-12, the joined carrier list), counted from the
 * published files by another program in another language: states, carriers, statuses and the whole.
 */
import type { CarrierDetail } from "../../src/directory/schema.ts"

/** Records by state, of every status; `none` are those without one. */
export const recordsByState: Readonly<Record<string, number>> = {
  none: 15677,
  AB: 3164,
  AK: 671,
  AL: 3124,
  AR: 2085,
  AS: 41,
  AZ: 3237,
  BC: 3384,
  CA: 20068,
  CO: 3134,
  CT: 2069,
  DC: 884,
  DE: 671,
  FL: 11462,
  GA: 5639,
  GU: 128,
  HI: 709,
  IA: 2841,
  ID: 998,
  IL: 8385,
  IN: 4103,
  KS: 2390,
  KY: 2861,
  LA: 2985,
  MA: 4994,
  MB: 1365,
  MD: 3799,
  ME: 763,
  MI: 6326,
  MN: 3896,
  MO: 4280,
  MP: 51,
  MS: 2144,
  MT: 768,
  NB: 687,
  NC: 4832,
  ND: 762,
  NE: 1567,
  NH: 768,
  NJ: 5754,
  NL: 620,
  NM: 1235,
  NS: 1059,
  NT: 110,
  NU: 86,
  NV: 1644,
  NY: 12426,
  OH: 6749,
  OK: 2489,
  ON: 9816,
  OR: 2285,
  PA: 8115,
  PE: 167,
  PR: 374,
  QC: 6164,
  RI: 629,
  SC: 2844,
  SD: 758,
  SK: 1639,
  TN: 3128,
  TX: 16584,
  UT: 1824,
  VA: 5037,
  VI: 81,
  VT: 588,
  WA: 2981,
  WI: 2193,
  WV: 1306,
  WY: 523,
  YT: 62
}

/** Carriers of both countries and of territories, in one state and in fifty; OCNs with a letter, brands, one known from the list only, one without assigned codes. */
export const carriers: ReadonlyArray<CarrierDetail> = [
  {
    ocn: "6534",
    company_name: "NEW CINGULAR WIRELESS PCS, LLC - IL",
    common_name: "AT&T",
    carrier_type: "WIRELESS",
    state: "TX",
    country: "US",
    exchanges: {
      total: 6466,
      by_state: {
        AR: 307,
        IA: 125,
        IL: 966,
        IN: 372,
        KS: 132,
        KY: 13,
        MI: 605,
        MN: 228,
        MO: 423,
        ND: 80,
        NE: 102,
        NM: 37,
        OH: 507,
        OK: 279,
        PA: 187,
        SD: 81,
        TX: 1818,
        WI: 162,
        WV: 42
      }
    }
  },
  {
    ocn: "9104",
    company_name: "VERIZON NEW YORK, INC.",
    common_name: null,
    carrier_type: "ILEC",
    state: "NY",
    country: "US",
    exchanges: { total: 2901, by_state: { CT: 15, NY: 2886 } }
  },
  {
    ocn: "829J",
    company_name: "PAETEC ITEL, LLC",
    common_name: null,
    carrier_type: "CLEC",
    state: "FL",
    country: "US",
    exchanges: {
      total: 5216,
      by_state: {
        AL: 178,
        AR: 3,
        AZ: 11,
        CA: 99,
        CO: 19,
        CT: 94,
        DC: 19,
        DE: 74,
        FL: 537,
        GA: 114,
        IA: 27,
        ID: 5,
        IL: 195,
        IN: 103,
        KS: 33,
        KY: 75,
        LA: 124,
        MA: 483,
        MD: 239,
        ME: 25,
        MI: 182,
        MN: 27,
        MO: 84,
        MS: 74,
        NC: 244,
        ND: 3,
        NE: 2,
        NH: 58,
        NJ: 267,
        NM: 3,
        NV: 4,
        NY: 456,
        OH: 148,
        OK: 26,
        OR: 5,
        PA: 449,
        RI: 65,
        SC: 178,
        SD: 2,
        TN: 139,
        TX: 68,
        UT: 9,
        VA: 177,
        VT: 14,
        WA: 16,
        WI: 59
      }
    }
  },
  {
    ocn: "6872",
    company_name: "GCI COMMUNICATION CORP. DBA GENERAL COMMUNICATION",
    common_name: null,
    carrier_type: "WIRELESS",
    state: "AK",
    country: "US",
    exchanges: { total: 86, by_state: { AK: 86 } }
  },
  {
    ocn: "4823",
    company_name: "PUERTO RICO TELCO DBA CLARO PUERTO RICO",
    common_name: null,
    carrier_type: "WIRELESS",
    state: "PR",
    country: "US",
    exchanges: { total: 87, by_state: { PR: 87 } }
  },
  {
    ocn: "387C",
    company_name: "PTI PACIFICA INC.",
    common_name: null,
    carrier_type: "WIRELESS",
    state: "GU",
    country: "US",
    exchanges: { total: 34, by_state: { GU: 19, MP: 15 } }
  },
  {
    ocn: "5562",
    company_name: "METROPCS, INC.",
    common_name: "Metro by T-Mobile",
    carrier_type: "WIRELESS",
    state: "FL",
    country: "US",
    exchanges: {
      total: 3832,
      by_state: {
        AL: 87,
        AR: 22,
        AZ: 51,
        CA: 314,
        CO: 21,
        CT: 60,
        DC: 44,
        DE: 6,
        FL: 497,
        GA: 108,
        HI: 3,
        IA: 20,
        ID: 6,
        IL: 105,
        IN: 82,
        KS: 45,
        KY: 64,
        LA: 86,
        MA: 213,
        MD: 70,
        ME: 8,
        MI: 132,
        MN: 19,
        MO: 30,
        MS: 39,
        NC: 64,
        NE: 9,
        NH: 12,
        NJ: 142,
        NM: 22,
        NV: 26,
        NY: 361,
        OH: 56,
        OK: 19,
        OR: 33,
        PA: 134,
        PR: 9,
        RI: 30,
        SC: 25,
        SD: 3,
        TN: 41,
        TX: 460,
        UT: 12,
        VA: 142,
        VI: 2,
        VT: 5,
        WA: 34,
        WI: 42,
        WV: 16,
        WY: 1
      }
    }
  },
  {
    ocn: "0155",
    company_name: "LINGO TELECOM, LLC",
    common_name: null,
    carrier_type: "CLEC",
    state: null,
    country: "US",
    exchanges: { total: 0, by_state: {} }
  },
  {
    ocn: "8540",
    company_name: "GREAT WEST SERVICES, LTD. - CO",
    common_name: null,
    carrier_type: null,
    state: "CO",
    country: "US",
    exchanges: { total: 0, by_state: {} }
  },
  {
    ocn: "8821",
    company_name: "Rogers Communications Canada Inc. (Wireless)",
    common_name: null,
    carrier_type: "WIRELESS",
    state: "ON",
    country: "CA",
    exchanges: {
      total: 2181,
      by_state: { AB: 224, BC: 293, MB: 114, NB: 33, NL: 6, NS: 62, ON: 1016, PE: 7, QC: 322, SK: 104 }
    }
  },
  {
    ocn: "6574",
    company_name: "Bell Mobility",
    common_name: "Bell Mobility",
    carrier_type: "WIRELESS",
    state: "ON",
    country: "CA",
    exchanges: {
      total: 2217,
      by_state: { AB: 297, BC: 202, MB: 136, NT: 39, NU: 27, ON: 814, QC: 523, SK: 159, YT: 20 }
    }
  },
  {
    ocn: "154E",
    company_name: "Iristel Inc.",
    common_name: null,
    carrier_type: "CLEC",
    state: "ON",
    country: "CA",
    exchanges: {
      total: 2021,
      by_state: {
        AB: 278,
        BC: 250,
        MB: 56,
        NB: 88,
        NL: 36,
        NS: 85,
        NT: 18,
        NU: 4,
        ON: 721,
        PE: 17,
        QC: 392,
        SK: 63,
        YT: 13
      }
    }
  },
  {
    ocn: "5643",
    company_name: "Fido Solutions Inc.",
    common_name: "Fido",
    carrier_type: "WIRELESS",
    state: "ON",
    country: "CA",
    exchanges: { total: 697, by_state: { AB: 67, BC: 133, MB: 32, ON: 291, QC: 164, SK: 10 } }
  },
  {
    ocn: "8304",
    company_name: "Zayo Canada Inc.",
    common_name: null,
    carrier_type: "CLEC",
    state: "ON",
    country: "CA",
    exchanges: { total: 243, by_state: { AB: 31, BC: 35, MB: 3, NL: 1, NS: 3, ON: 127, QC: 33, SK: 10 } }
  },
  {
    ocn: "3700",
    company_name: "MICRONESIAN TELECOMMUNICATIONS CORPORATION",
    common_name: null,
    carrier_type: "ILEC",
    state: "MP",
    country: "US",
    exchanges: { total: 15, by_state: { MP: 15 } }
  },
  {
    ocn: "638J",
    company_name: "LIBERTY MOBILE USVI INC.",
    common_name: null,
    carrier_type: "WIRELESS",
    state: "VI",
    country: "US",
    exchanges: { total: 16, by_state: { VI: 16 } }
  },
  {
    ocn: "0099",
    company_name: "HANCOCK TEL. CO.",
    common_name: null,
    carrier_type: "ILEC",
    state: "NY",
    country: "US",
    exchanges: { total: 2, by_state: { NY: 1, PA: 1 } }
  },
  {
    ocn: "079G",
    company_name: "BULLOCH CELLULAR, INC. - GA",
    common_name: null,
    carrier_type: null,
    state: "GA",
    country: "US",
    exchanges: { total: 1, by_state: { GA: 1 } }
  },
  {
    ocn: "8051",
    company_name: "Bell Canada",
    common_name: "Bell Canada",
    carrier_type: "ILEC",
    state: "ON",
    country: "CA",
    exchanges: { total: 2052, by_state: { ON: 2045, QC: 1 } }
  },
  {
    ocn: "8084",
    company_name: "TELUS",
    common_name: null,
    carrier_type: "ILEC",
    state: "AB",
    country: "CA",
    exchanges: { total: 991, by_state: { AB: 989 } }
  },
  {
    ocn: "342K",
    company_name: "Vocom International Telecommunications, Inc.",
    common_name: null,
    carrier_type: null,
    state: "QC",
    country: "CA",
    exchanges: { total: 0, by_state: {} }
  }
]

export const carriersInPuertoRico = ["091J", "3201", "4823", "559F", "639J", "752E", "8305", "955G", "9726", "985G"]

/** Filters of the carrier list with the number of carriers that pass and the first of them. */
export const carrierFilters = [
  { query: "", total: 3094, first: ["0003", "0004", "0005"] },
  { query: "country=US", total: 2966, first: ["0003", "0004", "0005"] },
  { query: "country=CA", total: 128, first: ["004G", "038E", "055H"] },
  { query: "state=NY", total: 118, first: ["0059", "0065", "0071"] },
  { query: "state=ON", total: 69, first: ["004G", "038E", "055H"] },
  { query: "state=MP", total: 2, first: ["3700", "4974"] },
  { query: "state=PE", total: 1, first: ["8087"] },
  { query: "type=ILEC", total: 1415, first: ["0003", "0004", "0005"] },
  { query: "type=CLEC", total: 1387, first: ["001F", "002F", "0030"] },
  { query: "type=WIRELESS", total: 271, first: ["0051", "0059", "013B"] },
  { query: "type=CAP", total: 0, first: [] },
  { query: "type=IXC", total: 0, first: [] },
  { query: "type=PCS", total: 0, first: [] },
  { query: "country=CA&type=WIRELESS", total: 17, first: ["328F", "329A", "346J"] },
  { query: "country=US&state=CA", total: 75, first: ["0051", "006E", "026K"] },
  { query: "country=CA&state=CA", total: 0, first: [] },
  { query: "country=CA&state=ON&type=CLEC", total: 36, first: ["004G", "038E", "055H"] },
  { query: "country=US&state=NY&type=WIRELESS", total: 14, first: ["0059", "1941", "2612"] },
  { query: "country=US&state=NY&type=ILEC", total: 42, first: ["0071", "0072", "0073"] },
  { query: "country=us&state=ny&type=ilec", total: 42, first: ["0071", "0072", "0073"] }
] as const

/** A code of every Canadian status that the file has, with the status that the directory gives it. */
export const canadianStatuses = [
  ["In Service", "204", "200", "ASSIGNED"],
  ["Assigned", "236", "254", "ASSIGNED"],
  ["Being Recovered", "257", "580", "ASSIGNED"],
  ["Stranded Code", "431", "309", "ASSIGNED"],
  ["Available", "236", "561", "UNASSIGNED"],
  ["Not Available", "204", "204", "RESERVED"],
  ["For Special Use", "204", "211", "RESERVED"],
  ["Moratorium on Assignment", "204", "610", "RESERVED"],
  ["New Entrants Reserved", "709", "503", "RESERVED"],
  ["Plant Test", "204", "959", "RESERVED"],
  ["Protected", "428", "788", "RESERVED"],
  ["TBP Test Code", "257", "945", "RESERVED"],
  ["Temporarily Unavailable", "867", "800", "RESERVED"]
] as const

/** The counts of `/v1/stats`. */
export const statistics = {
  total_records: 236_982,
  by_country: { US: 192_982, CA: 44_000 },
  by_status: { ASSIGNED: 215_113, UNASSIGNED: 14_322, RESERVED: 7_547 },
  coverage: { area_codes: 413, states_provinces: 69 }
} as const
