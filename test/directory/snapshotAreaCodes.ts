/** Numbers of the bundled snapshot, counted from the published files by another program in another language: area codes. */
import type { AreaCode } from "../../src/directory/schema.ts"

interface Expected extends Omit<AreaCode, "pagination"> {
  readonly name: string
  /** The code that is asked for; all of them where it is left out. */
  readonly nxx?: string
  /** The last of all, where it was looked up. */
  readonly last?: AreaCode["exchanges"][number]
}

/** Area codes of both countries with their first exchanges, or the one asked for. */
export const areaCodes: ReadonlyArray<Expected> = [
  {
    name: "New York",
    npa: "212",
    last: {
      nxx: "999",
      ocn: "9104",
      company_name: "VERIZON NEW YORK, INC.",
      rate_center: "NWYRCYZN01",
      status: "ASSIGNED"
    },
    state: "NY",
    country: "US",
    total_exchanges: 800,
    exchanges: [
      { nxx: "200", ocn: "384C", company_name: "ONVOY, LLC- NY", rate_center: "NWYRCYZN01", status: "ASSIGNED" },
      { nxx: "201", ocn: "829J", company_name: "PAETEC ITEL, LLC", rate_center: "NWYRCYZN01", status: "ASSIGNED" }
    ]
  },
  {
    name: "an exchange of New York",
    npa: "212",
    nxx: "226",
    state: "NY",
    country: "US",
    total_exchanges: 800,
    exchanges: [
      {
        nxx: "226",
        ocn: "9104",
        company_name: "VERIZON NEW YORK, INC.",
        rate_center: "NWYRCYZN01",
        status: "ASSIGNED"
      }
    ]
  },
  {
    name: "a MULT code",
    npa: "212",
    nxx: "555",
    state: "NY",
    country: "US",
    total_exchanges: 800,
    exchanges: [
      { nxx: "555", ocn: "MULT", company_name: "MULTIPLE OCN LISTING", rate_center: "DIR ASST", status: "RESERVED" }
    ]
  },
  {
    name: "Alaska",
    npa: "907",
    last: { nxx: "999", ocn: "321J", company_name: "HD CARRIER LLC", rate_center: "ANCHORAGE", status: "ASSIGNED" },
    state: "AK",
    country: "US",
    total_exchanges: 671,
    exchanges: [
      {
        nxx: "200",
        ocn: "6872",
        company_name: "GCI COMMUNICATION CORP. DBA GENERAL COMMUNICATION",
        rate_center: "VALDEZ",
        status: "ASSIGNED"
      },
      {
        nxx: "201",
        ocn: "6563",
        company_name: "CELLCO PARTNERSHIP DBA VERIZON WIRELESS",
        rate_center: "ELMEDRFAFB",
        status: "ASSIGNED"
      }
    ]
  },
  {
    name: "the Northern Marianas, NN in the file",
    npa: "670",
    last: {
      nxx: "989",
      ocn: "4974",
      company_name: "GUAM WIRELESS TELEPHONE COMPANY, LLC",
      rate_center: "SAIPAN",
      status: "ASSIGNED"
    },
    state: "MP",
    country: "US",
    total_exchanges: 51,
    exchanges: [
      { nxx: "211", ocn: "MULT", company_name: "MULTIPLE OCN LISTING", rate_center: null, status: "RESERVED" },
      {
        nxx: "233",
        ocn: "3700",
        company_name: "MICRONESIAN TELECOMMUNICATIONS CORPORATION",
        rate_center: "SAIPAN",
        status: "ASSIGNED"
      }
    ]
  },
  {
    name: "Puerto Rico",
    npa: "939",
    state: "PR",
    country: "US",
    total_exchanges: 374,
    exchanges: [
      {
        nxx: "200",
        ocn: "8645",
        company_name: "SUNCOM DBA T-MOBILE USA",
        rate_center: "AGUADILLA",
        status: "ASSIGNED"
      },
      {
        nxx: "201",
        ocn: "8305",
        company_name: "LIBERTY MOBILE PUERTO RICO INC.",
        rate_center: "ADJUNTAS",
        status: "ASSIGNED"
      }
    ]
  },
  {
    name: "Guam, its first code without a carrier",
    npa: "671",
    last: {
      nxx: "999",
      ocn: "3945",
      company_name: "GUAM WIRELESS TELEPHONE COMPANY, LLC",
      rate_center: "AGANA",
      status: "ASSIGNED"
    },
    state: "GU",
    country: "US",
    total_exchanges: 128,
    exchanges: [
      { nxx: "200", ocn: null, company_name: null, rate_center: null, status: "RESERVED" },
      { nxx: "201", ocn: "3922", company_name: "TELEGUAM HOLDINGS, LLC", rate_center: "AGANA", status: "ASSIGNED" }
    ]
  },
  {
    name: "American Samoa",
    npa: "684",
    last: { nxx: "988", ocn: null, company_name: null, rate_center: null, status: "RESERVED" },
    state: "AS",
    country: "US",
    total_exchanges: 41,
    exchanges: [
      { nxx: "211", ocn: "MULT", company_name: "MULTIPLE OCN LISTING", rate_center: null, status: "RESERVED" },
      { nxx: "248", ocn: "1460", company_name: "AST TELECOM, LLC", rate_center: "AM SAMOA", status: "ASSIGNED" }
    ]
  },
  {
    name: "the US Virgin Islands",
    npa: "340",
    last: {
      nxx: "998",
      ocn: "6529",
      company_name: "T-MOBILE USA, INC.",
      rate_center: "CHTAMSTTHS",
      status: "ASSIGNED"
    },
    state: "VI",
    country: "US",
    total_exchanges: 81,
    exchanges: [
      { nxx: "200", ocn: "073H", company_name: "TELNYX LLC", rate_center: "CHTAMSTTHS", status: "ASSIGNED" },
      {
        nxx: "201",
        ocn: "638J",
        company_name: "LIBERTY MOBILE USVI INC.",
        rate_center: "CHTAMSTTHS",
        status: "ASSIGNED"
      }
    ]
  },
  {
    name: "a new overlay without assigned codes",
    npa: "357",
    last: { nxx: "976", ocn: "MULT", company_name: "MULTIPLE OCN LISTING", rate_center: null, status: "RESERVED" },
    state: "CA",
    country: "US",
    total_exchanges: 14,
    exchanges: [
      { nxx: "211", ocn: "MULT", company_name: "MULTIPLE OCN LISTING", rate_center: null, status: "RESERVED" },
      { nxx: "311", ocn: "MULT", company_name: "MULTIPLE OCN LISTING", rate_center: null, status: "RESERVED" }
    ]
  },
  {
    name: "Manitoba",
    npa: "204",
    state: "MB",
    country: "CA",
    total_exchanges: 800,
    exchanges: [
      { nxx: "200", ocn: "4727", company_name: "ISP Telecom Inc.", rate_center: "Winnipeg", status: "ASSIGNED" },
      { nxx: "201", ocn: "8304", company_name: "Zayo Canada Inc.", rate_center: "Winnipeg", status: "ASSIGNED" }
    ]
  },
  {
    name: "shared by Nova Scotia and Prince Edward Island",
    npa: "902",
    last: {
      nxx: "999",
      ocn: "8821",
      company_name: "Rogers Communications Canada Inc. (Wireless)",
      rate_center: "Halifax",
      status: "ASSIGNED"
    },
    state: "NS",
    country: "CA",
    total_exchanges: 800,
    exchanges: [
      { nxx: "200", ocn: "154E", company_name: "Iristel Inc.", rate_center: "Charlottetown", status: "ASSIGNED" },
      { nxx: "201", ocn: "154E", company_name: "Iristel Inc.", rate_center: "Charlottetown", status: "ASSIGNED" }
    ]
  },
  {
    name: "its code in Prince Edward Island",
    npa: "902",
    nxx: "201",
    state: "NS",
    country: "CA",
    total_exchanges: 800,
    exchanges: [
      { nxx: "201", ocn: "154E", company_name: "Iristel Inc.", rate_center: "Charlottetown", status: "ASSIGNED" }
    ]
  },
  {
    name: "the overlay of the same two",
    npa: "782",
    last: { nxx: "999", ocn: "081E", company_name: "Distributel", rate_center: "Chelsea", status: "ASSIGNED" },
    state: "NS",
    country: "CA",
    total_exchanges: 800,
    exchanges: [
      {
        nxx: "200",
        ocn: "421G",
        company_name: "Bragg Communications Inc.",
        rate_center: "Halifax",
        status: "ASSIGNED"
      },
      { nxx: "201", ocn: "154E", company_name: "Iristel Inc.", rate_center: "Weymouth", status: "ASSIGNED" }
    ]
  },
  {
    name: "shared by three territories",
    npa: "867",
    last: { nxx: "999", ocn: "8092", company_name: "Northwestel", rate_center: "Yellowknife", status: "ASSIGNED" },
    state: "NT",
    country: "CA",
    total_exchanges: 800,
    exchanges: [
      { nxx: "200", ocn: "940G", company_name: "SSi Micro Ltd.", rate_center: "Yellowknife", status: "ASSIGNED" },
      { nxx: "201", ocn: "940G", company_name: "SSi Micro Ltd.", rate_center: "Igloolik", status: "ASSIGNED" }
    ]
  },
  {
    name: "Toronto",
    npa: "416",
    state: "ON",
    country: "CA",
    total_exchanges: 800,
    exchanges: [
      { nxx: "200", ocn: "6574", company_name: "Bell Mobility", rate_center: "Toronto", status: "ASSIGNED" },
      { nxx: "201", ocn: "8051", company_name: "Bell Canada", rate_center: "Toronto", status: "ASSIGNED" }
    ]
  },
  {
    name: "New Brunswick",
    npa: "506",
    state: "NB",
    country: "CA",
    total_exchanges: 800,
    exchanges: [
      {
        nxx: "200",
        ocn: "2782",
        company_name: "TELUS Integrated Communications",
        rate_center: "Edmundston",
        status: "ASSIGNED"
      },
      {
        nxx: "201",
        ocn: "2782",
        company_name: "TELUS Integrated Communications",
        rate_center: "Caraquet",
        status: "ASSIGNED"
      }
    ]
  },
  {
    name: "Ottawa",
    npa: "343",
    last: {
      nxx: "999",
      ocn: "8821",
      company_name: "Rogers Communications Canada Inc. (Wireless)",
      rate_center: "Ottawa-Hull",
      status: "ASSIGNED"
    },
    state: "ON",
    country: "CA",
    total_exchanges: 800,
    exchanges: [
      { nxx: "200", ocn: "8306", company_name: "Videotron Ltd.", rate_center: "Rockland", status: "ASSIGNED" }
    ]
  },
  {
    name: "an overlay most of whose records name no state",
    npa: "942",
    last: {
      nxx: "999",
      ocn: "812H",
      company_name: "IXICA Communications Inc.",
      rate_center: "Toronto",
      status: "ASSIGNED"
    },
    state: "ON",
    country: "CA",
    total_exchanges: 800,
    exchanges: [
      {
        nxx: "200",
        ocn: "812H",
        company_name: "IXICA Communications Inc.",
        rate_center: "Toronto",
        status: "ASSIGNED"
      }
    ]
  }
]
