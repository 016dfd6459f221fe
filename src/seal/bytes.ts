/** Bytes that WebCrypto takes: not a view of shared memory. */
export type Bytes = Uint8Array<ArrayBuffer>

/**
 * Writes a whole number big-endian. A `DataView` would do, but asking a small array for its buffer moves it out of the
 * engine's heap, which costs more than all the arithmetic of a seal.
 */
export function putNumber(bytes: Uint8Array, at: number, width: number, value: number): void {
  let rest = value
  for (let index = at + width - 1; index >= at; index--) {
    bytes[index] = rest % 256
    rest = Math.floor(rest / 256)
  }
}

/** Reads what `putNumber` wrote, exactly up to 6 bytes. */
export function numberAt(bytes: Uint8Array, at: number, width: number): number {
  let value = 0
  for (let index = at; index < at + width; index++) value = value * 256 + (bytes[index] ?? 0)
  return value
}
