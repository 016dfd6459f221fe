import { DurableObject } from "cloudflare:workers"
import { GroupCommit } from "./commit.ts"
import { AFTERLIFE_MS, SealedOperations, type Settlement } from "./sealed.ts"
import { type RowKey, SealedRows } from "./sealed-rows.ts"
import type { Attempt, Claim, ClaimAnswer, FinishAnswer, LookupAnswer, Outcome, SettleAnswer } from "./types.ts"

const SWEEP_EVERY_MS = 15 * 60_000
/** A few milliseconds: an alarm that an alarm sets for its own moment stalls. */
const SWEEP_ON_MS = 5
const SWEPT_AT_KEY = "swept_at"

/**
 * One shard of the ledger: a Durable Object that spends operations and records their outcomes.
 *
 * Storage is the truth, and each call is decided in one synchronous block, so that of any number of racing claims one
 * wins, whatever crashes. As long as the object has tables, an alarm is set that sweeps them. Swept empty, it gives
 * its storage back and keeps one number, the time of the sweep.
 *
 * Reached through `createLedgerClient`, which checks what it sends, and never directly.
 */
export class Ledger extends DurableObject {
  readonly #rows = new SealedRows(this.ctx.storage, () => this.#sweepIn(SWEEP_EVERY_MS))
  readonly #operations = new SealedOperations(this.#rows)
  readonly #commits = new GroupCommit(() => this.ctx.storage.sync())
  /** Read from storage once, and only ever changed together with it. */
  #sweptAt: number | undefined

  claim(key: RowKey, attempt: Attempt): Promise<ClaimAnswer> {
    return this.#commits.run(() => this.#operations.claim(this.#now(), key, attempt))
  }

  settle(key: RowKey, settlement: Settlement): Promise<SettleAnswer> {
    return this.#commits.run(() => this.#operations.settle(this.#now(), key, settlement))
  }

  record(key: RowKey, claim: Claim, outcome: Outcome, body?: Uint8Array): Promise<FinishAnswer> {
    return this.#commits.run(() => this.#operations.record(this.#now(), key, claim, outcome, body))
  }

  release(key: RowKey, claim: Claim): Promise<FinishAnswer> {
    return this.#commits.run(() => this.#operations.release(this.#now(), key, claim))
  }

  lookup(key: RowKey, fingerprint: Uint8Array): LookupAnswer {
    return this.#operations.lookup(this.#now(), key, fingerprint)
  }

  /** Sweeps. The next alarm is set first, so that a sweep that fails does not end the chain. */
  override alarm(): void {
    this.#sweepIn(SWEEP_EVERY_MS)
    const now = this.#now()
    const left = this.#rows.sweep(now - AFTERLIFE_MS)
    if (left === "empty") this.#deleteAll()
    else if (left === "more to sweep") this.#sweepIn(SWEEP_ON_MS)
    this.ctx.storage.kv.put(SWEPT_AT_KEY, now)
    this.#sweptAt = now
  }

  /** Takes the alarm along. In one turn with the check that nothing is left: a claim in between would be lost. */
  #deleteAll(): void {
    void this.ctx.storage.deleteAll()
    this.#rows.forget()
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
