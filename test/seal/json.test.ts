import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { Json } from "../../src/brands.ts"
import { bytesToBase64Url, canonicalJson, digestArguments } from "../../src/seal/index.ts"
import { stateProblem } from "../../src/seal/json.ts"

/** Without integers beyond 2^53, which are refused. */
const jsonValue = fc
  .json({ maxDepth: 5 })
  .map((text) => JSON.parse(text, (_, value) => (isUnsafe(value) ? 0.5 : value)))
const isUnsafe = (value: unknown) => Number.isInteger(value) && !Number.isSafeInteger(value)

const nested = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels))

function neverCalled(): never {
  throw new Error("This value should not have been looked at.")
}

async function digestOf(text: string): Promise<string> {
  const digested = await digestArguments(JSON.parse(text))
  return digested.ok ? bytesToBase64Url(digested.digest) : digested.problem
}

describe("canonicalJson", () => {
  it("writes the example of RFC 8785 section 3.2.2", () => {
    const value = JSON.parse(
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
    )
    value.numbers[1] = 30 // 1E30 is an integer beyond 2^53
    expect(canonicalJson(value)).toEqual({
      ok: true,
      text: '{"literals":[null,true,false],"numbers":[333333333.3333333,30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    })
  })

  it("orders members by UTF-16 units", () => {
    expect(canonicalJson({ b: 1, _: 2, B: 3, "\u{1f600}": 4, "\ufb33": 5, 10: 6, 9: 7 })).toEqual({
      ok: true,
      text: '{"10":6,"9":7,"B":3,"_":2,"b":1,"\u{1f600}":4,"\ufb33":5}',
    })
  })

  it("takes __proto__, constructor and toJSON for members like any other", () => {
    expect(canonicalJson(JSON.parse('{"toJSON":1,"constructor":{},"__proto__":{"a":[]}}'))).toEqual({
      ok: true,
      text: '{"__proto__":{"a":[]},"constructor":{},"toJSON":1}',
    })
  })

  it("writes what JSON.parse gives back unchanged, however the members were ordered", () => {
    const stable = fc.property(jsonValue, (value) => {
      const canonical = canonicalJson(value)
      const text = canonical.ok ? canonical.text : canonical.problem
      expect(canonicalJson(JSON.parse(text))).toEqual(canonical)
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
    })
    fc.assert(stable, { numRuns: 1_000, endOnFailure: true })
  })

  it.each([
    ["undefined", undefined, "a value is not JSON"],
    ["an undefined member", { a: undefined }, "a value is not JSON"],
    ["a hole", new Array(1), "a value is not JSON"],
    ["a bigint", 1n, "a value is not JSON"],
    ["a function", () => 1, "a value is not JSON"],
    ["a symbol", Symbol.iterator, "a value is not JSON"],
    ["a Date", new Date(0), "a value is not JSON"],
    ["a Map", new Map([["a", 1]]), "a value is not JSON"],
    ["bytes", new Uint8Array(1), "a value is not JSON"],
    ["NaN", [Number.NaN], "a number is not finite"],
    ["infinity", { a: -Infinity }, "a number is not finite"],
    ["an integer that another may have become", 2 ** 53, "an integer is beyond 2^53"],
    ["the same below zero", [-(2 ** 53)], "an integer is beyond 2^53"],
    ["a lone surrogate", { a: "\ud800" }, "a string has a lone surrogate"],
    ["a lone surrogate in a name", { "\udc00": 1 }, "a string has a lone surrogate"],
    ["65 levels", nested(65), "it is nested deeper than 64 levels"],
    [
      "an object of too many members",
      Object.fromEntries(new Array(10_001).entries()),
      "it has more than 10000 members",
    ],
    [
      "too many members in small objects",
      Array.from({ length: 2_001 }, () => ({ a: 1, b: 2, c: 3, d: 4, e: 5 })),
      "it has more than 10000 members",
    ],
    ["too many values", new Array(100_000).fill(0), "it has more than 100000 values"],
    [
      "too long strings",
      ["a".repeat(2 ** 20), "b".repeat(2 ** 20), "c"],
      "its strings have more than 2097152 characters",
    ],
  ])("refuses %s", (_, value, problem) => {
    expect(canonicalJson(value)).toEqual({ ok: false, problem })
  })

  it.each([
    ["64 levels", nested(64)],
    ["the last exact integers", [2 ** 53 - 1, -(2 ** 53) + 1]],
    ["many members", Object.fromEntries(new Array(10_000).fill(0).entries())],
    ["many values", new Array(99_999).fill(0)],
    ["an object of no prototype", Object.assign(Object.create(null), { a: 1 })],
  ])("takes %s", (_, value) => {
    expect(canonicalJson(value)).toMatchObject({ ok: true })
  })

  it("refuses too many values before it looks at them", () => {
    const untouchable = Object.defineProperty({}, "a", { enumerable: true, get: neverCalled })
    const wide: Json = new Array(1_000_000).fill(untouchable)
    const large: Json = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`${index}`, untouchable]))
    expect(canonicalJson([[wide]])).toEqual({ ok: false, problem: "it has more than 100000 values" })
    expect(stateProblem(wide)).toBe("it has more than 4096 values")
    expect(stateProblem(large)).toBe("it has more than 4096 values")
  })

  it("measures a state to the byte, whatever its length is made of", () => {
    const numbers = (length: number) => new Array(length).fill(-1.2345678901234567e-308)
    expect(stateProblem(numbers(163))).toBeUndefined()
    expect(stateProblem(numbers(164))).toBe("it has 4101 bytes of JSON, at most 4096 fit")
    expect(stateProblem("\u001f".repeat(682))).toBeUndefined()
    expect(stateProblem("\u001f".repeat(683))).toBe("it has 4100 bytes of JSON, at most 4096 fit")
    const members = (length: number) =>
      Object.fromEntries(Array.from({ length }, (_, index) => [String.fromCharCode(0x100 + index), 1]))
    expect(stateProblem(members(585))).toBeUndefined()
    expect(stateProblem(members(586))).toBe("it has 4103 bytes of JSON, at most 4096 fit")
  })

  it("looks at no member beyond the bound", () => {
    let looked = 0
    const members = Object.fromEntries(Array.from({ length: 999 }, (_, index) => [`${index}`, 0]))
    const counted = () => new Proxy(members, { get: () => ++looked })
    expect(canonicalJson(Array.from({ length: 1_000 }, counted))).toMatchObject({ ok: false })
    expect(looked).toBe(9_990)
    looked = 0
    expect(stateProblem(Array.from({ length: 100 }, counted))).toBeDefined()
    expect(looked).toBeLessThan(4_096)
  })

  it("does not walk a cycle for ever", () => {
    const cycle: unknown[] = []
    cycle.push(cycle)
    expect(canonicalJson(cycle)).toMatchObject({ ok: false })
  })
})

describe("digestArguments", () => {
  it("is SHA-256 of the canonical text", async () => {
    const expected = await crypto.subtle.digest("SHA-256", new TextEncoder().encode('{"a":1,"é":"€"}'))
    expect(await digestOf('{"é":"\\u20ac","a":1.0}')).toBe(bytesToBase64Url(new Uint8Array(expected)))
  })

  it("does not see order, spelling of numbers or escapes", async () => {
    const one = await digestOf('{"_":1,"B":{"y":[1,0.1],"x":"é/"},"a":-0}')
    expect(await digestOf('{ "a": 0e5, "B": {"x": "\\u00e9\\/", "y": [1e0, 1.0E-1]}, "_": 1.0 }')).toBe(one)
  })

  it("tells apart whatever differs", async () => {
    const texts = [
      "{}",
      "[]",
      "null",
      '""',
      '"null"',
      "0",
      '"0"',
      "false",
      '{"a":null}',
      '{"__proto__":1}',
      '{"__proto__":2}',
      '{"a":[1,2]}',
      '{"a":[2,1]}',
      '{"a":"é"}',
      '{"a":"e\\u0301"}',
      "[[]]",
      "[[],[]]",
      "[0,1]",
      "[0.1]",
    ]
    expect(new Set(await Promise.all(texts.map(digestOf))).size).toBe(texts.length)
  })

  it("says what is wrong, and nothing of the arguments", async () => {
    expect(await digestOf('{"secret":90071992547409930}')).toBe("an integer is beyond 2^53")
  })
})
