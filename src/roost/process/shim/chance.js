// Time and chance as the run gives them: `Date` knows the moment of the activation and UTC, `Math.random` is
// xoshiro128** seeded by the run, the same numbers as in Python (`roost.process.chance`).
(function (shared) {
  'use strict'
  // a macro may hide them
  const { Math, Object, String, Symbol } = globalThis
  const Native = Date, proto = Date.prototype, { UTC, parse } = Date, { construct } = Reflect
  const { getTime } = proto
  const ZONE = /(?:z|gmt|utc|[ecmp][sd]t|[+-]\d\d:?\d\d)\s*(?:\([^)]*\))?\s*$/i
  const hidden = { writable: true, enumerable: false, configurable: true }

  function parsed(text) {
    text = String(text)
    if (ZONE.test(text) && !/^\s*[+-]?\d+-\d\d(?:-\d\d)?\s*$/.test(text)) return parse(text)
    const time = parse(`${text}Z`)
    return time === time ? time : parse(`${text} Z`)
  }

  function moment(value) {
    if (value instanceof Native) return getTime.call(value)
    if (typeof value === 'object' && value !== null) value = value[Symbol.toPrimitive]?.('default') ?? `${value}`
    return typeof value === 'string' ? parsed(value) : value
  }

  function Moment(...parts) {
    if (new.target === undefined) return new Native(shared.time).toString()
    const time = parts.length === 0 ? shared.time : parts.length === 1 ? moment(parts[0]) : UTC(...parts)
    return construct(Native, [time], new.target)
  }
  Object.defineProperty(Moment, 'name', { ...hidden, value: 'Date' })
  Object.defineProperty(Moment, 'length', { ...hidden, value: 7 })
  Object.defineProperty(Moment, 'prototype', { value: proto, writable: false })
  const now = () => shared.time
  for (const [name, value] of Object.entries({ now, UTC, parse: text => parsed(text) })) {
    Object.defineProperty(Moment, name, { ...hidden, value })
  }
  proto.constructor = Moment
  globalThis.Date = Moment

  for (const name of Object.getOwnPropertyNames(proto)) { // there is one zone: UTC
    if (name.includes('UTC') && name !== 'toUTCString') proto[name.replace('UTC', '')] = proto[name]
  }
  const { toUTCString } = proto
  const methods = {
    getTimezoneOffset() {
      return getTime.call(this) * 0
    },
    toString() {
      const time = getTime.call(this)
      return time === time ? `${this.toDateString()} ${this.toTimeString()}` : 'Invalid Date'
    },
    toDateString() {
      const [day, date, month, year] = toUTCString.call(this).split(' ')
      return year === undefined ? 'Invalid Date' : `${day.slice(0, 3)} ${month} ${date} ${year}`
    },
    toTimeString() {
      const time = toUTCString.call(this).split(' ')[4]
      return time === undefined ? 'Invalid Date' : `${time} GMT+0000`
    },
    toLocaleString() {
      return this.toString()
    },
    toLocaleDateString() {
      return this.toDateString()
    },
    toLocaleTimeString() {
      return this.toTimeString()
    },
  }
  for (const name of Object.keys(methods)) Object.defineProperty(proto, name, { ...hidden, value: methods[name] })
  delete proto.getYear
  delete proto.setYear

  let run, words
  const turned = (word, by) => (word << by) | (word >>> (32 - by))

  function seeded(high, low) { // SplitMix32 spreads the seed over four words
    let word = (high ^ turned(low, 16)) | 0
    const next = () => {
      word = (word + 0x9e3779b9) | 0
      let mixed = Math.imul(word ^ (word >>> 16), 0x21f0aaad)
      mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
      return mixed ^ (mixed >>> 15)
    }
    const spread = [next(), next() ^ low, next(), next() ^ high]
    return spread.every(each => each === 0) ? [1, 0, 0, 0] : spread
  }

  function word32() {
    const [, second] = words
    const result = Math.imul(turned(Math.imul(second, 5), 7), 9) >>> 0
    words[2] ^= words[0]
    words[3] ^= words[1]
    words[1] ^= words[2]
    words[0] ^= words[3]
    words[2] ^= second << 9
    words[3] = turned(words[3], 11)
    return result
  }

  Math.random = function random() {
    if (run !== shared.runs) {
      run = shared.runs
      words = seeded(shared.seed, shared.other)
    }
    return ((word32() >>> 5) * 67108864 + (word32() >>> 6)) / 9007199254740992 // 53 bits
  }
})
