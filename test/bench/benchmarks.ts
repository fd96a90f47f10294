/** Every benchmark there is. To add one, write it in a file under `rows/` and name it here. */
import { consoleBenchmarks } from "./rows/console.ts"
import { directoryIndexBenchmarks } from "./rows/directoryIndex.ts"
import { engineBenchmarks } from "./rows/engine.ts"
import { engineBesideBenchmarks } from "./rows/engineBeside.ts"
import { crossingBenchmarks } from "./rows/engineCrossing.ts"
import { engineRecoveryBenchmarks } from "./rows/engineRecovery.ts"
import { httpBenchmarks } from "./rows/http.ts"
import { importBenchmarks } from "./rows/imports.ts"
import { ingestionBenchmarks } from "./rows/ingestion.ts"
import { keysBenchmarks } from "./rows/keys.ts"
import { limitsBenchmarks } from "./rows/limits.ts"
import { nodesBenchmarks } from "./rows/nodes.ts"
import { sendBenchmarks } from "./rows/send.ts"
import { sendHttpBenchmarks } from "./rows/sendHttp.ts"
import { sendQueueBenchmarks } from "./rows/sendQueue.ts"
import { startupBenchmarks } from "./rows/startup.ts"
import { streamsBenchmarks } from "./rows/streams.ts"
import { webhooksBenchmarks } from "./rows/webhooks.ts"
import { windowsBenchmarks } from "./rows/windows.ts"
import type { Benchmark } from "./runner/benchmark.ts"

export const benchmarks: ReadonlyArray<Benchmark> = [
  ...httpBenchmarks,
  ...ingestionBenchmarks,
  ...directoryIndexBenchmarks,
  ...startupBenchmarks,
  ...importBenchmarks,
  ...engineBenchmarks,
  ...engineBesideBenchmarks,
  ...engineRecoveryBenchmarks,
  ...crossingBenchmarks,
  ...nodesBenchmarks,
  ...keysBenchmarks,
  ...limitsBenchmarks,
  ...windowsBenchmarks,
  ...streamsBenchmarks,
  ...webhooksBenchmarks,
  ...sendBenchmarks,
  ...sendHttpBenchmarks,
  ...sendQueueBenchmarks,
  ...consoleBenchmarks
]
