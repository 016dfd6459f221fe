import type { History, Input, Seen, Told } from "./history.ts"

type Outcome = Extract<Told, { says: "outcome" }>

/** Everything that is wrong with an operation's whole history, after all its clients have asked to the end. */
export function judge(history: History): string[] {
  return [oneOutcome, oneHolder, keptOutcome, keptInput, fittingEffects, cameToRest].flatMap((rule) => rule(history))
}

/** Never two winners: whoever is told an outcome is told the same one, for the same answers. */
function oneOutcome({ seen }: History): string[] {
  const own = outcomes(seen)
  const outcome = new Set([...own.map(({ told }) => told.outcome), ...recorded(seen)])
  const results = new Set(own.map(({ told }) => told.result))
  const answers = new Set(own.map(({ input }) => input.answers))
  return [
    ...(outcome.size > 1 ? [`has several outcomes: ${[...outcome].join(", ")}`] : []),
    ...(results.size > 1 ? [`has ${results.size} different results`] : []),
    ...(answers.size > 1 ? [`was won by several answers: ${[...answers].join(", ")}`] : []),
  ]
}

/** An attempt has one holder: two claims never have the same number. */
function oneHolder({ claims }: History): string[] {
  return [...Map.groupBy(claims, ({ attempt }) => attempt)].flatMap(([attempt, held]) => {
    const { size } = new Set(held.map(({ claim }) => claim))
    return size > 1 ? [`gave attempt ${attempt} ${size} times`] : []
  })
}

/** The first attempt on a key fixes the input: to any other it is a mismatch, and always was. */
function keptInput({ seen }: History): string[] {
  const mismatched = new Set(seen.flatMap(({ input, told }) => (told.says === "mismatch" ? [input.answers] : [])))
  return seen.flatMap(({ input, told }) =>
    mismatched.has(input.answers) && told.says !== "mismatch" && told.says !== "nothing"
      ? [`was ${told.says} for input that it told a mismatch`]
      : [],
  )
}

/** No outcome lost: whoever asks after it was told is told it again, or that it belongs to other input. */
function keptOutcome({ seen }: History): string[] {
  const [first] = outcomes(seen).toSorted((one, other) => one.heard - other.heard)
  if (first === undefined) return []
  const later = seen.filter(({ sent }) => sent > first.heard)
  return later.flatMap(({ input, told }) => {
    if (told.says === "nothing" || (told.says === "mismatch" && !sameAnswers(input, first.input))) return []
    if (told.says === "outcome") return sameAnswers(input, first.input) ? [] : ["gave its outcome to other answers"]
    if (told.says === "already_used" && !isSame(input, first.input))
      return told.recorded === first.told.outcome
        ? []
        : [`was ${first.told.outcome} and then recorded ${told.recorded}`]
    return [
      `was ${first.told.outcome} and then ${told.says} for ${isSame(input, first.input) ? "the same" : "other"} input`,
    ]
  })
}

/** An effect that happened once is told once, one that did not is not told; and nothing happens twice. */
function fittingEffects({ kind, seen, effects }: History): string[] {
  if (kind === "redeem") return []
  const completed = outcomes(seen).filter(({ told }) => told.outcome === "completed")
  const others = outcomes(seen).length > completed.length
  return [
    ...(effects.length > 1 ? [`happened ${effects.length} times`] : []),
    ...(completed.length > 0 && effects.length === 0 ? ["was completed and never happened"] : []),
    ...(others && effects.length > 0 ? ["happened and was told to have ended otherwise"] : []),
    ...(completed.some(({ told }) => !effects.some((effect) => told.result.includes(effect)))
      ? ["has a result that is not what happened"]
      : []),
  ]
}

/** No record stuck, and an unknown outcome is said to be one, under the policy `report` alone. */
function cameToRest({ kind, seen, effects }: History): string[] {
  const last = new Map(seen.map((one) => [`${one.input.answers} ${one.input.state}`, one.told]))
  const told = [...last.values()]
  const unknown = told.some(isUnknown)
  const restless = told.filter((one) => !isRest(one))
  return [
    ...restless.map((one) => `ends with ${one.says}`),
    ...(unknown && kind !== "report" && kind !== "keyed report" ? ["ends unknown though it may run again"] : []),
    ...(!unknown && restless.length === 0 && !told.some(({ says }) => says === "outcome")
      ? ["ends without an outcome for anybody"]
      : []),
    ...(effects.length > 0 && !unknown && !told.some((one) => one.says === "outcome")
      ? ["happened and nobody is told that it may have"]
      : []),
  ]
}

function outcomes(seen: readonly Seen[]): (Seen & { readonly told: Outcome })[] {
  return seen.flatMap((one) => (one.told.says === "outcome" ? [{ ...one, told: one.told }] : []))
}

/** Outcomes that stand for other input; what is still open there is none. */
function recorded(seen: readonly Seen[]): string[] {
  return seen.flatMap(({ told }) => (told.says === "already_used" && !isOpen(told.recorded) ? [told.recorded] : []))
}

function isOpen(recorded: string): boolean {
  return recorded === "running" || recorded === "outcome_unknown"
}

function isUnknown(told: Told): boolean {
  return told.says === "outcome_unknown" || (told.says === "already_used" && told.recorded === "outcome_unknown")
}

/** Asking again would not change it. */
export function isRest(told: Told): boolean {
  if (told.says === "outcome" || told.says === "mismatch") return true
  return isUnknown(told) || (told.says === "already_used" && !isOpen(told.recorded))
}

function isSame(one: Input, other: Input): boolean {
  return sameAnswers(one, other) && one.state === other.state
}

function sameAnswers(one: Input, other: Input): boolean {
  return one.answers === other.answers
}
