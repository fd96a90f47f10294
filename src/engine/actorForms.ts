/**
 * Reads and writes the forms of an actor's facts, states and commands: checks by their schemas, upcasts of older
 * versions, and the form of the version before (docs/cluster.md, "Two versions together"). Needs no service.
 */
import { Schema, SchemaAST } from "effect"
import type { JsonCodec, Since, Upcasts, WrittenForm } from "./Actor.ts"

export const upcast = (kind: string, what: string, upcasts: Upcasts | undefined, current: number) => {
  return (encoded: unknown, version: number): unknown => {
    let value = encoded
    for (let from = version; from < current; from++) {
      const step = upcasts?.[from]
      if (step === undefined) throw new Error(`${kind} has no upcast of its ${what} from version ${from}`)
      value = step(value)
    }
    if (version > current) {
      throw new Error(`the ${what} of ${kind} is of version ${version}, this program knows ${current}`)
    }
    return value
  }
}

/** Whether a declared schema encodes its values as themselves: it has no link to another schema. */
const isOwnJson = ({ annotations, typeParameters }: SchemaAST.Declaration): boolean => {
  const linkOf = annotations?.toCodecJson
  // A link of a type with parameters may look at them.
  return typeParameters.length === 0 && typeof linkOf === "function" && linkOf([]) === undefined
}

/**
 * Whether a schema's values are (nearly) their own JSON form. Checking such a value is enough to know that it can be
 * written.
 */
const isPlain = (ast: SchemaAST.AST): boolean => {
  if (ast.encoding !== undefined) return false
  if (SchemaAST.isDeclaration(ast)) return isOwnJson(ast)
  if (SchemaAST.isObjects(ast))
    return (
      ast.propertySignatures.every(({ type }) => isPlain(type)) &&
      ast.indexSignatures.every(({ parameter, type }) => isPlain(parameter) && isPlain(type))
    )
  if (SchemaAST.isArrays(ast)) return [...ast.elements, ...ast.rest].every(isPlain)
  if (SchemaAST.isUnion(ast)) return ast.types.every(isPlain)
  return (
    SchemaAST.isString(ast) ||
    SchemaAST.isNumber(ast) ||
    SchemaAST.isBoolean(ast) ||
    SchemaAST.isNull(ast) ||
    SchemaAST.isLiteral(ast)
  )
}

/**
 * Says why a value of a schema cannot be written; undefined when it can. Checking a plain value is ten times cheaper
 * than encoding it.
 */
export const problemOf = <A>(schema: JsonCodec<A>, encode: (value: A) => unknown) => {
  const isIt = isPlain(schema.ast) ? Schema.is(schema) : undefined
  return (value: unknown): string | undefined => {
    if (isIt?.(value) === true) return undefined
    try {
      encode(value as A)
      return undefined
    } catch (cause) {
      return (cause instanceof Error ? cause.message : String(cause)).slice(0, 300)
    }
  }
}

/** Describes the fault of a value that a schema refuses. */
const problemWith = <A>(schema: JsonCodec<A>, value: unknown): string => {
  try {
    Schema.decodeUnknownSync(Schema.toType(schema))(value)
    return "its schema refuses it"
  } catch (cause) {
    return (cause instanceof Error ? cause.message : String(cause)).slice(0, 300)
  }
}

/** Makes the codec of commands when it is first needed: most actors never get a command from another process. */
export const commandCodec = <Command>(schema: JsonCodec<Command>) => {
  let encode: ((command: Command) => unknown) | undefined
  let decode: ((encoded: unknown) => Command) | undefined
  let isIt: ((command: unknown) => boolean) | undefined
  return {
    commandProblem: (command: unknown): string | undefined => {
      isIt ??= Schema.is(schema)
      return isIt(command) ? undefined : problemWith(schema, command)
    },
    encodeCommand: (command: Command): unknown => {
      encode ??= Schema.encodeUnknownSync(Schema.toCodecJson(schema))
      return encode(command)
    },
    decodeCommand: (encoded: unknown): Command => {
      decode ??= Schema.decodeUnknownSync(Schema.toCodecJson(schema))
      return decode(encoded)
    }
  }
}

/** Makes the form of the version before. `encodeAgain` reads a fact of that form, and writes it in the own one. */
export const formBefore = <Fact, State>(
  kind: string,
  own: WrittenForm<Fact, State>,
  since: Since,
  encodeAgain: (encoded: unknown, version: number) => unknown
): WrittenForm<Fact, State> => {
  const version = own.version - 1
  return {
    version,
    encodeFact: (fact) => {
      const encoded = own.encodeFact(fact)
      const older = since.fact(encoded)
      if (JSON.stringify(encodeAgain(older, version)) !== JSON.stringify(encoded))
        throw new Error(
          `${kind} makes a fact that its version ${version} cannot say, before formats of level ${since.level} are in force`
        )
      return older
    },
    encodeState: (state) => since.state(own.encodeState(state))
  }
}
