import { DurableObject } from "cloudflare:workers"
import { GroupCommit } from "./commit.ts"
import { KeyedOperations, type Resolution } from "./keyed.ts"
import { KeyedRows } from "./keyed-rows.ts"
import type {
  BeginAnswer,
  EndAnswer,
  Ending,
  KeyedAttempt,
  ReadAnswer,
  RenewAnswer,
  ResolveAnswer,
} from "./keyed-types.ts"
import { AFTERLIFE_MS, SealedOperations, type Settlement } from "./sealed.ts"
import { type RowKey, SealedRows } from "./sealed-rows.ts"
import type {
  Answer,
  AnswerAnswer,
  Attempt,
  Claim,
  ClaimAnswer,
  FinishAnswer,
  LookupAnswer,
  Outcome,
  SettleAnswer,
} from "./types.ts"
import { Waiters } from "./waiters.ts"

const SWEEP_EVERY_MS = 15 * 60_000
const PAUSE_MS = 1
/** Bounds the time that one alarm takes. */
const SLICES_AN_ALARM = 100
/** A few milliseconds: an alarm that an alarm sets for its own moment stalls. */
const SWEEP_ON_MS = 5
const SWEPT_AT_KEY = "swept_at"

/**
 * One shard of the ledger: a Durable Object that spends operations and records their outcomes. Sealed operations have
 * the first verbs, keyed ones those from `begin` on; no object ever has both.
 *
 * Storage is the truth, and each call is decided in one synchronous block, so that of any number of racing claims one
 * wins, whatever crashes. As long as the object has tables, an alarm is set that sweeps them. Swept empty, it gives
 * its storage back and keeps one number, the time of the sweep.
 *
 * Reached through `createLedgerClient` and `createKeyedLedgerClient`, which check what they send, and never directly.
 */
export class Ledger extends DurableObject {
  readonly #sealedRows = new SealedRows(this.ctx.storage, () => this.#sweepIn(SWEEP_EVERY_MS))
  readonly #sealed = new SealedOperations(this.#sealedRows)
  readonly #keyedRows = new KeyedRows(this.ctx.storage, () => this.#sweepIn(SWEEP_EVERY_MS))
  readonly #keyed = new KeyedOperations(this.#keyedRows)
  readonly #commits = new GroupCommit(() => this.ctx.storage.sync())
  readonly #waiters = new Waiters()
  /** Read from storage once, and only ever changed together with it. */
  #sweptAt: number | undefined

  claim(key: RowKey, attempt: Attempt, waitSeconds = 0): Promise<ClaimAnswer> {
    return this.#patiently(key.id, waitSeconds, () => {
      const answer = this.#sealed.claim(this.#now(), key, attempt)
      return { answer, runsUntil: answer.status === "running" && answer.sameInput ? answer.leaseEndsAt : undefined }
    })
  }

  answer(key: RowKey, answer: Answer): Promise<AnswerAnswer> {
    return this.#commits.run(() => this.#sealed.answer(this.#now(), key, answer))
  }

  settle(key: RowKey, settlement: Settlement): Promise<SettleAnswer> {
    return this.#commits.run(() => this.#sealed.settle(this.#now(), key, settlement))
  }

  record(key: RowKey, claim: Claim, outcome: Outcome, body?: Uint8Array): Promise<FinishAnswer> {
    return this.#waking(key.id, () => this.#sealed.record(this.#now(), key, claim, outcome, body))
  }

  release(key: RowKey, claim: Claim): Promise<FinishAnswer> {
    return this.#waking(key.id, () => this.#sealed.release(this.#now(), key, claim))
  }

  lookup(key: RowKey, fingerprint: Uint8Array): LookupAnswer {
    return this.#sealed.lookup(this.#now(), key, fingerprint)
  }

  begin(id: Uint8Array, attempt: KeyedAttempt, waitSeconds = 0): Promise<BeginAnswer> {
    return this.#patiently(id, waitSeconds, () => {
      const answer = this.#keyed.begin(this.#now(), id, attempt)
      return { answer, runsUntil: answer.status === "running" ? answer.leaseEndsAt : undefined }
    })
  }

  end(id: Uint8Array, claim: Uint8Array, ending: Ending): Promise<EndAnswer> {
    return this.#waking(id, () => this.#keyed.end(this.#now(), id, claim, ending))
  }

  renew(id: Uint8Array, claim: Uint8Array, leaseSeconds: number): Promise<RenewAnswer> {
    return this.#commits.run(() => this.#keyed.renew(this.#now(), id, claim, leaseSeconds))
  }

  resolve(id: Uint8Array, resolution: Resolution): Promise<ResolveAnswer> {
    return this.#commits.run(() => this.#keyed.resolve(this.#now(), id, resolution))
  }

  read(id: Uint8Array): ReadAnswer {
    return this.#keyed.read(this.#now(), id)
  }

  /**
   * Sweeps in slices, each of which shares its commit with the calls that wait, and lets those in that arrive. The next
   * alarm is set first, so that a sweep that fails does not end the chain.
   */
  override async alarm(): Promise<void> {
    this.#sweepIn(SWEEP_EVERY_MS)
    for (let slices = 0; slices < SLICES_AN_ALARM; slices++) {
      const left = await this.#commits.run(() => this.#sweepSlice())
      if (left === "nothing") return
      // Without a timer a runtime whose flushes hold up its thread goes from slice to slice and takes no calls.
      await scheduler.wait(PAUSE_MS)
    }
    this.#sweepIn(SWEEP_ON_MS)
  }

  /**
   * Decides, and while an attempt runs waits for its end and decides again, until the caller's patience is over. It
   * begins to wait in the turn of the decision: an end that is decided next is not missed. Patience is what timers have
   * taken of it, because the clock may step back.
   */
  async #patiently<T>(id: Uint8Array, waitSeconds: number, decide: () => Decision<T>): Promise<T> {
    let patience = waitSeconds * 1000
    for (;;) {
      const { answer, awaited } = await this.#commits.run(() => {
        const { answer, runsUntil } = decide()
        const milliseconds = Math.min(patience, (runsUntil ?? 0) - this.#now())
        return { answer, awaited: milliseconds > 0 ? this.#waiters.join(id, milliseconds) : undefined }
      })
      if (awaited === undefined) return answer
      patience -= await awaited
    }
  }

  /** Decides what may end an attempt, and wakes those who wait for that. */
  #waking<T>(id: Uint8Array, decide: () => T): Promise<T> {
    return this.#commits.run(() => {
      const answer = decide()
      this.#waiters.wake(id)
      return answer
    })
  }

  /** Says what is left to sweep. */
  #sweepSlice(): "more" | "nothing" {
    const now = this.#now()
    const left = [this.#sealedRows.sweep(now - AFTERLIFE_MS), this.#keyedRows.sweep(now)]
    if (left.every((swept) => swept === "empty")) this.#deleteAll()
    this.ctx.storage.kv.put(SWEPT_AT_KEY, now)
    this.#sweptAt = now
    return left.includes("more to sweep") ? "more" : "nothing"
  }

  /** Takes the alarm along. In one turn with the check that nothing is left: a claim in between would be lost. */
  #deleteAll(): void {
    void this.ctx.storage.deleteAll()
    this.#sealedRows.forget()
    this.#keyedRows.forget()
  }

  /** This object's clock. It never runs back over swept records: what they spent would be unspent. */
  #now(): number {
    this.#sweptAt ??= this.ctx.storage.kv.get<number>(SWEPT_AT_KEY) ?? 0
    return Math.max(Date.now(), this.#sweptAt)
  }

  #sweepIn(milliseconds: number): void {
    void this.ctx.storage.setAlarm(Date.now() + milliseconds)
  }
}

interface Decision<T> {
  readonly answer: T
  /** When the lease ends of the attempt that is worth waiting for, if there is one. */
  readonly runsUntil: number | undefined
}
