import type { AreaCode, CarrierDetail } from "../../src/directory/schema.ts"

/** Numbers of the bundled snapshot, counted from the published files by another program in another language. */

/** Records by state, of every status; `none` are those without one. */
export const recordsByState: Readonly<Record<string, number>> = {
  none: 16226,
  AB: 3133,
  AK: 671,
  AL: 3124,
  AR: 2085,
  AS: 41,
  AZ: 3237,
  BC: 3334,
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
  MB: 1347,
  MD: 3799,
  ME: 763,
  MI: 6326,
  MN: 3896,
  MO: 4280,
  MP: 51,
  MS: 2144,
  MT: 768,
  NB: 681,
  NC: 4832,
  ND: 762,
  NE: 1567,
  NH: 768,
  NJ: 5754,
  NL: 615,
  NM: 1235,
  NS: 1051,
  NT: 102,
  NU: 83,
  NV: 1644,
  NY: 12426,
  OH: 6749,
  OK: 2489,
  ON: 9630,
  OR: 2285,
  PA: 8115,
  PE: 165,
  PR: 374,
  QC: 5957,
  RI: 629,
  SC: 2844,
  SD: 758,
  SK: 1615,
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
  YT: 61
}

/** Carriers of both countries and of territories; an OCN with a letter, one known from the list only, one without assigned codes. */
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
      total: 2088,
      by_state: { AB: 223, BC: 273, MB: 114, NB: 33, NL: 5, NS: 62, ON: 968, PE: 6, QC: 300, SK: 104 }
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
      total: 2187,
      by_state: { AB: 292, BC: 202, MB: 134, NT: 36, NU: 27, ON: 801, QC: 516, SK: 159, YT: 20 }
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
    exchanges: { total: 240, by_state: { AB: 31, BC: 35, MB: 3, NL: 1, NS: 3, ON: 124, QC: 33, SK: 10 } }
  }
]

/** Area codes of both countries with their first exchanges, or the one asked for. */
export const areaCodes: ReadonlyArray<Omit<AreaCode, "pagination"> & { readonly name: string; readonly nxx?: string }> =
  [
    {
      name: "New York",
      npa: "212",
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
    }
  ]

export const carriersInPuertoRico = ["091J", "3201", "4823", "559F", "639J", "752E", "8305", "955G", "9726", "985G"]
