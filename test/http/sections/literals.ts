/**
 * What the published files say, worked out from the raw files of the data snapshot (NANPA code assignments of
 * 2026-07-06, CNAC code status of 2024-10-10, the joined carrier list, the NPA report of 2026-07-06) apart from the code
 * under test.
 */

/** Carriers: of both countries, with letters, brands and territories, in one state and in fifty. */
export const carriers = [
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
    ocn: "8540",
    company_name: "GREAT WEST SERVICES, LTD. - CO",
    common_name: null,
    carrier_type: null,
    state: "CO",
    country: "US",
    exchanges: { total: 0, by_state: {} }
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
    exchanges: { total: 2050, by_state: { ON: 2043, QC: 1 } }
  },
  {
    ocn: "8084",
    company_name: "TELUS",
    common_name: null,
    carrier_type: "ILEC",
    state: "AB",
    country: "CA",
    exchanges: { total: 990, by_state: { AB: 988 } }
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
    ocn: "342K",
    company_name: "Vocom International Telecommunications, Inc.",
    common_name: null,
    carrier_type: null,
    state: "QC",
    country: "CA",
    exchanges: { total: 1, by_state: { QC: 1 } }
  },
  {
    ocn: "154E",
    company_name: "Iristel Inc.",
    common_name: null,
    carrier_type: "CLEC",
    state: "ON",
    country: "CA",
    exchanges: {
      total: 1922,
      by_state: {
        AB: 258,
        BC: 236,
        MB: 52,
        NB: 80,
        NL: 35,
        NS: 85,
        NT: 16,
        NU: 2,
        ON: 700,
        PE: 17,
        QC: 367,
        SK: 62,
        YT: 12
      }
    }
  }
] as const

/** A carrier of fifty states and territories, with a brand: total and a few of the states. */
export const wideCarrier = {
  ocn: "5562",
  company_name: "METROPCS, INC.",
  common_name: "Metro by T-Mobile",
  carrier_type: "WIRELESS",
  state: "FL",
  country: "US",
  total: 3832,
  states: 50,
  some: { FL: 497, TX: 460, NY: 361, PR: 9, VI: 2, WY: 1 }
} as const

const mult = { ocn: "MULT", company_name: "MULTIPLE OCN LISTING", rate_center: null, status: "RESERVED" }
const nothing = { ocn: null, company_name: null, rate_center: null, status: "RESERVED" }

/** Area codes of both countries: state, number of records, and the first and the last of them. */
export const areaCodes = [
  {
    npa: "212",
    state: "NY",
    country: "US",
    total: 800,
    first: {
      nxx: "200",
      ocn: "384C",
      company_name: "ONVOY, LLC- NY",
      rate_center: "NWYRCYZN01",
      status: "ASSIGNED"
    },
    last: {
      nxx: "999",
      ocn: "9104",
      company_name: "VERIZON NEW YORK, INC.",
      rate_center: "NWYRCYZN01",
      status: "ASSIGNED"
    }
  },
  {
    npa: "907",
    state: "AK",
    country: "US",
    total: 671,
    first: {
      nxx: "200",
      ocn: "6872",
      company_name: "GCI COMMUNICATION CORP. DBA GENERAL COMMUNICATION",
      rate_center: "VALDEZ",
      status: "ASSIGNED"
    },
    last: { nxx: "999", ocn: "321J", company_name: "HD CARRIER LLC", rate_center: "ANCHORAGE", status: "ASSIGNED" }
  },
  {
    npa: "670",
    state: "MP",
    country: "US",
    total: 51,
    first: { nxx: "211", ...mult },
    last: {
      nxx: "989",
      ocn: "4974",
      company_name: "GUAM WIRELESS TELEPHONE COMPANY, LLC",
      rate_center: "SAIPAN",
      status: "ASSIGNED"
    }
  },
  {
    npa: "684",
    state: "AS",
    country: "US",
    total: 41,
    first: { nxx: "211", ...mult },
    last: { nxx: "988", ...nothing }
  },
  {
    npa: "340",
    state: "VI",
    country: "US",
    total: 81,
    first: { nxx: "200", ocn: "073H", company_name: "TELNYX LLC", rate_center: "CHTAMSTTHS", status: "ASSIGNED" },
    last: {
      nxx: "998",
      ocn: "6529",
      company_name: "T-MOBILE USA, INC.",
      rate_center: "CHTAMSTTHS",
      status: "ASSIGNED"
    }
  },
  {
    npa: "671",
    state: "GU",
    country: "US",
    total: 128,
    first: { nxx: "200", ...nothing },
    last: {
      nxx: "999",
      ocn: "3945",
      company_name: "GUAM WIRELESS TELEPHONE COMPANY, LLC",
      rate_center: "AGANA",
      status: "ASSIGNED"
    }
  },
  {
    npa: "357",
    state: "CA",
    country: "US",
    total: 14,
    first: { nxx: "211", ...mult },
    last: { nxx: "976", ...mult }
  },
  {
    npa: "902",
    state: "NS",
    country: "CA",
    total: 800,
    first: {
      nxx: "200",
      ocn: "154E",
      company_name: "Iristel Inc.",
      rate_center: "Charlottetown",
      status: "ASSIGNED"
    },
    last: {
      nxx: "999",
      ocn: "8821",
      company_name: "Rogers Communications Canada Inc. (Wireless)",
      rate_center: "Halifax",
      status: "ASSIGNED"
    }
  },
  {
    npa: "782",
    state: "NS",
    country: "CA",
    total: 800,
    first: {
      nxx: "200",
      ocn: "421G",
      company_name: "Bragg Communications Inc.",
      rate_center: "Halifax",
      status: "ASSIGNED"
    },
    last: { nxx: "999", ocn: "081E", company_name: "Distributel", rate_center: "Chelsea", status: "ASSIGNED" }
  },
  {
    npa: "867",
    state: "NT",
    country: "CA",
    total: 800,
    first: { nxx: "200", ocn: "940G", company_name: "SSi Micro Ltd.", rate_center: "Yellowknife", status: "ASSIGNED" },
    last: { nxx: "999", ocn: "8092", company_name: "Northwestel", rate_center: "Yellowknife", status: "ASSIGNED" }
  },
  {
    npa: "343",
    state: "ON",
    country: "CA",
    total: 800,
    first: { nxx: "200", ocn: "8306", company_name: "Videotron Ltd.", rate_center: "Rockland", status: "ASSIGNED" },
    last: {
      nxx: "999",
      ocn: "8821",
      company_name: "Rogers Communications Canada Inc. (Wireless)",
      rate_center: "Ottawa-Hull",
      status: "ASSIGNED"
    }
  },
  {
    npa: "942",
    state: "ON",
    country: "CA",
    total: 800,
    first: { nxx: "200", ...nothing },
    last: { nxx: "999", ...nothing }
  }
] as const

/** Filters of the carrier list with the number of carriers that pass and the first of them. */
export const carrierFilters = [
  { query: "", total: 3093, first: ["0003", "0004", "0005"] },
  { query: "country=US", total: 2966, first: ["0003", "0004", "0005"] },
  { query: "country=CA", total: 127, first: ["004G", "038E", "055H"] },
  { query: "state=NY", total: 118, first: ["0059", "0065", "0071"] },
  { query: "state=ON", total: 70, first: ["004G", "038E", "055H"] },
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
  { query: "country=CA&state=ON&type=CLEC", total: 37, first: ["004G", "038E", "055H"] },
  { query: "country=US&state=NY&type=WIRELESS", total: 14, first: ["0059", "1941", "2612"] },
  { query: "country=US&state=NY&type=ILEC", total: 42, first: ["0071", "0072", "0073"] },
  { query: "country=us&state=ny&type=ilec", total: 42, first: ["0071", "0072", "0073"] }
] as const

/** A code of every Canadian status that the file has, with the status that the directory gives it. */
export const canadianStatuses = [
  ["In Service", "204", "200", "ASSIGNED"],
  ["Assigned", "236", "209", "ASSIGNED"],
  ["Being Recovered", "249", "352", "ASSIGNED"],
  ["New NPA Testing", "257", "580", "ASSIGNED"],
  ["Stranded Code", "431", "309", "ASSIGNED"],
  ["Available", "236", "205", "UNASSIGNED"],
  ["Recovered/Aging", "587", "640", "UNASSIGNED"],
  ["Not Available", "204", "204", "RESERVED"],
  ["For Special Use", "204", "211", "RESERVED"],
  ["Moratorium on Assignment", "204", "610", "RESERVED"],
  ["Plant Test", "204", "959", "RESERVED"],
  ["New NPA", "257", "200", "RESERVED"],
  ["Protected", "428", "788", "RESERVED"],
  ["Temporarily Unavailable", "867", "800", "RESERVED"]
] as const

/** The counts of `/v1/stats`. */
export const statistics = {
  total_records: 236_982,
  by_country: { US: 192_982, CA: 44_000 },
  by_status: { ASSIGNED: 214_583, UNASSIGNED: 13_322, RESERVED: 9_077 },
  coverage: { area_codes: 413, states_provinces: 69 }
} as const
