/**
 * Chooses the speech engine (docs/platform.md, 10.5): the configured speech service, else the programs of this machine.
 */
import type { Layer } from "effect"
import * as EspeakEngine from "./espeak/EspeakEngine.ts"
import type { SpeechEngine } from "./SpeechEngine.ts"
import * as UpstreamEngine from "./upstream/UpstreamEngine.ts"

export type { Upstream } from "./upstream/UpstreamEngine.ts"

export interface TalkOptions {
  /** A speech service; undefined: `espeak-ng`, where it is on the path. */
  readonly upstream: UpstreamEngine.Upstream | undefined
  /** Folders of programs, like `PATH`, which is the default. */
  readonly path?: string | undefined
}

export const layerSpeechEngine = ({ path, upstream }: TalkOptions): Layer.Layer<SpeechEngine> =>
  upstream === undefined ? EspeakEngine.layer(path ?? process.env.PATH ?? "") : UpstreamEngine.layer(upstream)
