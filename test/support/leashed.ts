/** `sluice` that ends with the process that started it, however that one ends: their pipe closes. Its data folder goes with it. */
import { rmSync } from "node:fs"

process.stdin
  .once("close", () => {
    rmSync(process.env.SLUICE_DATA_DIR!, { recursive: true, force: true })
    // Nobody is there any more whom it could answer, and its database and its log go with the run.
    process.kill(process.pid, "SIGKILL")
  })
  .resume()

await import(process.env.SLUICE_TEST_PROGRAM ?? "../../src/main.ts")
