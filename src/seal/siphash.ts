const BLOCK_BYTES = 8
const ROUNDS = 2
const FINAL_ROUNDS = 4

/**
 * SipHash-2-4 (Aumasson and Bernstein, 2012) under a 16-byte key: from a message to 8 bytes.
 * Each 64-bit word of the state is a low and a high half, because bitwise operators have 32 bits.
 */
export function sipHash(key: Uint8Array): (message: Uint8Array) => Uint8Array {
  const key0Low = wordAt(key, 0)
  const key0High = wordAt(key, 4)
  const key1Low = wordAt(key, 8)
  const key1High = wordAt(key, 12)

  return (message) => {
    let aLow = key0Low ^ 0x70736575
    let aHigh = key0High ^ 0x736f6d65
    let bLow = key1Low ^ 0x6e646f6d
    let bHigh = key1High ^ 0x646f7261
    let cLow = key0Low ^ 0x6e657261
    let cHigh = key0High ^ 0x6c796765
    let dLow = key1Low ^ 0x79746573
    let dHigh = key1High ^ 0x74656462

    const blocks = padded(message)
    for (let at = 0; at <= blocks.length; at += BLOCK_BYTES) {
      const final = at === blocks.length
      const low = final ? 0 : wordAt(blocks, at)
      const high = final ? 0 : wordAt(blocks, at + 4)
      dLow ^= low
      dHigh ^= high
      if (final) cLow ^= 0xff

      for (let round = final ? FINAL_ROUNDS : ROUNDS; round > 0; round--) {
        aLow = (aLow + bLow) | 0
        aHigh = (aHigh + bHigh + carry(aLow, bLow)) | 0
        cLow = (cLow + dLow) | 0
        cHigh = (cHigh + dHigh + carry(cLow, dLow)) | 0

        const b13 = (bLow << 13) | (bHigh >>> 19)
        bHigh = ((bHigh << 13) | (bLow >>> 19)) ^ aHigh
        bLow = b13 ^ aLow
        const d16 = (dLow << 16) | (dHigh >>> 16)
        dHigh = ((dHigh << 16) | (dLow >>> 16)) ^ cHigh
        dLow = d16 ^ cLow

        // The rotation of `a` by 32 exchanges its halves.
        const a32 = (aHigh + dLow) | 0
        aHigh = (aLow + dHigh + carry(a32, dLow)) | 0
        aLow = a32
        cLow = (cLow + bLow) | 0
        cHigh = (cHigh + bHigh + carry(cLow, bLow)) | 0

        const d21 = (dLow << 21) | (dHigh >>> 11)
        dHigh = ((dHigh << 21) | (dLow >>> 11)) ^ aHigh
        dLow = d21 ^ aLow
        const b17 = (bLow << 17) | (bHigh >>> 15)
        bHigh = ((bHigh << 17) | (bLow >>> 15)) ^ cHigh
        bLow = b17 ^ cLow

        const c32 = cHigh
        cHigh = cLow
        cLow = c32
      }

      aLow ^= low
      aHigh ^= high
    }
    const hash = new Uint8Array(8)
    putWord(hash, 0, aLow ^ bLow ^ cLow ^ dLow)
    putWord(hash, 4, aHigh ^ bHigh ^ cHigh ^ dHigh)
    return hash
  }
}

/** Whole blocks; the last byte is the length of the message modulo 256. */
function padded(message: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(message.length - (message.length % BLOCK_BYTES) + BLOCK_BYTES)
  bytes.set(message)
  bytes[bytes.length - 1] = message.length
  return bytes
}

/** 32 bits, the lowest byte first. */
function wordAt(bytes: Uint8Array, at: number): number {
  return octet(bytes, at) | (octet(bytes, at + 1) << 8) | (octet(bytes, at + 2) << 16) | (octet(bytes, at + 3) << 24)
}

function octet(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0
}

function putWord(bytes: Uint8Array, at: number, word: number): void {
  for (let index = 0; index < 4; index++) bytes[at + index] = word >>> (8 * index)
}

/** Whether a 32-bit addition overflowed, from its sum and one of its terms. */
function carry(sum: number, term: number): 0 | 1 {
  return sum >>> 0 < term >>> 0 ? 1 : 0
}
