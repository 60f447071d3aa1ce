// The Bloom filter of PSync, with the calls that @ndn/psync makes of it. Salts and sizes are those of Partow's C++ Bloom
// filter library, which PSync C++ carries; the hash function is handed in.

// The first 16 of Partow's salts: a false positive probability down to 2^-16 takes no more.
const SALTS = [
  0xAAAAAAAA, 0x55555555, 0x33333333, 0xCCCCCCCC, 0x66666666, 0x99999999, 0xB5B5B5B5, 0x4B4B4B4B,
  0xAA55AA55, 0x55335533, 0x33CC33CC, 0xCC66CC66, 0x66996699, 0x99B599B5, 0xB54BB54B, 0x4BAA4BAA,
];
const SEED = 0xB67A3E03;
const MAX_HASHES = 1000;

// The number of hash functions that takes the fewest bits, and how many bytes those are.
function optimum(count, probability) {
  let hashes = 0;
  let bits = Infinity;
  for (let k = 1; k < MAX_HASHES; ++k) {
    const size = -k * count / Math.log(1 - probability ** (1 / k));
    if (size < bits) {
      [hashes, bits] = [k, size];
    }
  }
  return { hashes, bytes: Math.ceil(Math.trunc(bits) / 8) };
}

function saltsFor(hashes) {
  if (hashes > SALTS.length) {
    throw new Error(`${hashes} hash functions are wanted, at most ${SALTS.length} are here`);
  }
  const salts = Uint32Array.from(SALTS.slice(0, hashes));
  for (let i = 0; i < hashes; ++i) {
    salts[i] = Math.imul(salts[i], salts[(i + 3) % hashes]) + SEED; // in place: later salts see earlier ones
  }
  return salts;
}

export class BloomFilter {
  static async create(parameters, wire) {
    return new BloomFilter(parameters, wire);
  }

  #bytes;
  #hash;
  #salts;

  constructor({ hash, projectedElementCount, falsePositiveProbability }, wire) {
    const { hashes, bytes } = optimum(projectedElementCount, falsePositiveProbability);
    if (wire && wire.length !== bytes) {
      throw new Error(`this Bloom filter has ${bytes} bytes, ${wire.length} were given`);
    }
    this.projectedElementCount = projectedElementCount;
    this.falsePositiveProbability = falsePositiveProbability;
    this.#hash = hash;
    this.#salts = saltsFor(hashes);
    this.#bytes = wire ? Uint8Array.from(wire) : new Uint8Array(bytes);
  }

  insert(key) {
    for (const { at, mask } of this.#bits(key)) {
      this.#bytes[at] |= mask;
    }
  }

  contains(key) {
    return this.#bits(key).every(({ at, mask }) => (this.#bytes[at] & mask) !== 0);
  }

  clear() {
    this.#bytes.fill(0);
  }

  encode() {
    return Uint8Array.from(this.#bytes);
  }

  #bits(key) {
    return Array.from(this.#salts, (salt) => {
      const bit = this.#hash(salt, key) % (this.#bytes.length * 8);
      return { at: bit >> 3, mask: 1 << (bit & 7) };
    });
  }
}
