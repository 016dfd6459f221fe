import type { Json } from "../brands.ts"

/** What an effect says of itself when it returns. Whatever it throws leaves its outcome unknown. */
export type EffectResult =
  | {
      readonly kind: "done"
      readonly data: { readonly [member: string]: Json }
      readonly text: string
      /** `outcome only`: a result that reveals a secret is not stored; a repeat learns that it was given. */
      readonly stores: "result" | "outcome only"
    }
  /**
   * Sure that nothing happened, in this attempt or, by the idempotency key, in any before it, and that trying again
   * cannot help: recorded, final.
   */
  | { readonly kind: "refused"; readonly text: string; readonly nextAction: string }
  /** Sure that nothing happened, and trying again may help: the operation is given back. */
  | { readonly kind: "failed"; readonly text: string }

/** What an effect is given to act once, in time, and in the caller's trace. */
export interface EffectContext {
  /** The operation's id: the same for every attempt at it, different for every other operation. */
  readonly idempotencyKey: string
  /** The caller's `traceparent` (W3C Trace Context), well-formed: pass it on to whatever the effect calls. */
  readonly traceparent: string | undefined
  /** Fires before the lease ends; what is written after that is written without the operation. */
  readonly signal: AbortSignal
}

/** Why the action must not happen, found under the lease. Recorded, final. */
export interface Objection {
  /** `policy_changed`: what was approved is no longer what would happen, so the person is asked anew. */
  readonly status: "failed" | "policy_changed"
  readonly text: string
}

/** What a recheck is told of the attempt that it looks at. */
export interface RecheckContext {
  /**
   * Whether an earlier attempt vanished (under `rerun` alone): its effect may have happened. What the effect itself
   * changes, such as a budget, must not be held against it then; its own write, which honours the idempotency key, tells.
   */
  readonly again: boolean
}

/** Looks again, after the claim and right before the effect. Throws where it cannot tell: nothing happens then. */
export type Recheck = (context: RecheckContext) => Objection | undefined | Promise<Objection | undefined>

/** What an operation commits. */
export interface Commitment {
  /** In order; the first objection is the outcome. */
  readonly recheck?: readonly Recheck[]
  readonly effect: Effect
}

/** The action that an operation commits. */
export type Effect = (context: EffectContext) => Promise<EffectResult>

/**
 * The effect happened. `data` joins the structured result, `text` is for a person.
 *
 * @param stores `outcome only` for a secret: a repeat learns that it was given, and not what it was
 * @example
 * return done({ invoice: "R-7" }, "The order was placed.")
 */
export function done(
  data: { readonly [member: string]: Json },
  text: string,
  stores: "result" | "outcome only" = "result",
): EffectResult {
  return { kind: "done", data, text, stores }
}

/**
 * The effect's own write refused it, for good: nothing happened, and `nextAction` says what could be done instead.
 *
 * @example
 * return refused(`A database named "${name}" exists already.`, "Choose another name.")
 */
export function refused(text: string, nextAction: string): EffectResult {
  return { kind: "refused", text, nextAction }
}

/**
 * The effect could not begin: nothing happened, and the same state may be sent again.
 *
 * @example
 * if (response.status === 503) return failed("The billing system is away.")
 */
export function failed(text: string): EffectResult {
  return { kind: "failed", text }
}

/**
 * The caller may not do this any more, or there is no budget for it: final.
 *
 * @example
 * recheck: [() => (op.caller.scopes.has("orders") ? undefined : denied("You may not order any more."))]
 */
export function denied(text: string): Objection {
  return { status: "failed", text }
}

/**
 * The price, the policy or the resource is not what was approved: the person is asked anew.
 *
 * @example
 * recheck: [async () => ((await priceOf(account)) === cost ? undefined : changed("The price has changed."))]
 */
export function changed(text: string): Objection {
  return { status: "policy_changed", text }
}
