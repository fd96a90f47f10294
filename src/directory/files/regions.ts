/**
 * Maps states, territories and provinces from their spellings in the files. The code files use two letters; the NPA
 * report writes Canadian provinces, and sometimes a territory, in full, and may name several.
 */

/** The fifty states and the District of Columbia, in the order in which the US file lists them. */
export const states: ReadonlyArray<string> = (
  "AK AL AR AZ CA CO CT DC DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH NJ NM NV NY OH OK OR " +
  "PA RI SC SD TN TX UT VA VT WA WI WV WY"
).split(" ")

/**
 * US state cell to state code: the territories are American Samoa, Guam, Northern Marianas, Puerto Rico, Virgin
 * Islands.
 */
export const stateOfCell: ReadonlyMap<string, string> = new Map([
  ...states.map((state) => [state, state] as const),
  ...["AS", "GU", "MP", "PR", "VI"].map((territory) => [territory, territory] as const),
  // The US file's own code for the Northern Marianas (docs/directory.md, 1.2).
  ["NN", "MP"]
])

/** Province codes of the Canadian file. */
export const provinces: ReadonlySet<string> = new Set("AB BC MB NB NL NS NT NU ON PE QC SK YT".split(" "))

const provinceOfName: ReadonlyMap<string, string> = new Map([
  ["ALBERTA", "AB"],
  ["BRITISH COLUMBIA", "BC"],
  ["MANITOBA", "MB"],
  ["NEW BRUNSWICK", "NB"],
  ["NEWFOUNDLAND", "NL"],
  ["NEWFOUNDLAND AND LABRADOR", "NL"],
  ["NOVA SCOTIA", "NS"],
  ["NORTHWEST TERRITORIES", "NT"],
  ["NW TERR.", "NT"],
  ["NUNAVUT", "NU"],
  ["ONTARIO", "ON"],
  ["PRINCE EDWARD ISLAND", "PE"],
  ["QUEBEC", "QC"],
  ["SASKATCHEWAN", "SK"],
  ["YUKON", "YT"],
  ["YUKON TERRITORY", "YT"]
])

const stateOfName: ReadonlyMap<string, string> = new Map([
  ...stateOfCell,
  ["AMERICAN SAMOA", "AS"],
  ["CNMI", "MP"],
  ["GUAM", "GU"],
  ["PUERTO RICO", "PR"],
  ["USVI", "VI"]
])

const nowhere: ReadonlySet<string> = new Set(["", "NANP AREA", "CANADA"])

/**
 * The codes that a LOCATION cell of the NPA report names, first one first; empty where it names no state or
 * province (`NANP AREA`, `CANADA`, an empty cell). Null when a name is not known.
 */
export const regionsOfLocation = (location: string): ReadonlyArray<string> | null => {
  if (nowhere.has(location)) return []
  const codes: Array<string> = []
  for (const part of location.split("-")) {
    const name = part.trim()
    const code = stateOfName.get(name) ?? provinceOfName.get(name)
    if (code === undefined) return null
    if (!codes.includes(code)) codes.push(code)
  }
  return codes
}
