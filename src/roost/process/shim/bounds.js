// Bounds for what the engine would do in one step, however long it takes: it looks at the clock between steps only.
//
// Arrays that are longer than memory would allow are sparse, or no arrays; searching is bounded by the product of the
// two lengths. What is bounded but long counts for as many steps as it is worth (`spend`). No `Proxy`: without it an
// array is what it says it is.
(function (shared) {
  'use strict'
  // a macro may hide them
  const { Array, Iterator, JSON, Math, Number, Object, RangeError, RegExp, String, Symbol, TypeError } = globalThis
  const { apply } = Reflect, { isArray } = Array, { max, min, trunc } = Math
  const LONGEST = 1 << 20, LONGEST_SEARCH = 1 << 26, LONGEST_TEXT = 1 << 14
  const STEP = 32 // elements that one look at the clock is worth
  const hidden = { writable: true, enumerable: false, configurable: true }

  function spend(length) {
    for (let i = length / STEP; i > 1; i--);
  }

  function bounded(length) {
    if (length > LONGEST) throw new RangeError(`${length} elements are too many, the limit is ${LONGEST}`)
    spend(length)
  }

  function listed(like) {
    const object = Object(like), length = min(max(trunc(object.length) || 0, 0), 2 ** 53), list = []
    bounded(length)
    for (let i = 0; i < length; i++) if (i in object) list[i] = object[i]
    list.length = length
    return list
  }

  function replace(owner, name, make) {
    const native = owner[name]
    if (native === undefined) return
    const value = make(native)
    Object.defineProperty(value, 'name', { value: native.name, configurable: true })
    Object.defineProperty(owner, name, { ...hidden, value })
  }

  for (const name of ['join', 'slice', 'toLocaleString']) { // they read, and so do on what is like an array
    replace(Array.prototype, name, native => function (...rest) {
      if (this === null || this === undefined) return apply(native, this, rest)
      const list = isArray(this) ? this : listed(this)
      if (list.length > STEP) bounded(list.length)
      return apply(native, list, rest)
    })
  }
  for (const name of ['copyWithin', 'fill', 'reverse', 'shift', 'sort', 'splice', 'unshift',
    'toReversed', 'toSorted', 'toSpliced', 'with']) {
    replace(Array.prototype, name, native => function (...rest) {
      if (!isArray(this)) throw new TypeError(`${name} is for arrays`)
      if (this.length > STEP) bounded(this.length)
      return apply(native, this, rest)
    })
  }
  replace(Array.prototype, 'concat', () => function concat(...lists) {
    const all = isArray(this) ? this.slice() : [this]
    for (const list of lists) {
      if (!isArray(list)) all.push(list)
      else {
        const at = all.length, { length } = list
        bounded(at + length)
        for (let i = 0; i < length; i++) if (i in list) all[at + i] = list[i]
        all.length = at + length
      }
    }
    return all
  })
  const flatten = (list, depth, all) => {
    bounded(list.length)
    for (let i = 0; i < list.length; i++) {
      if (i in list) isArray(list[i]) && depth >= 1 ? flatten(list[i], depth - 1, all) : all.push(list[i])
    }
    return all
  }
  replace(Array.prototype, 'flat', () => function flat(depth = 1) {
    return flatten(isArray(this) ? this : listed(this), trunc(depth) || 0, [])
  })
  replace(Array.prototype, 'flatMap', () => function flatMap(callback, self) {
    return flatten(apply(Array.prototype.map, this, [callback, self]), 1, [])
  })
  replace(Array.prototype, 'values', native => function values() { // what `...` calls
    if (isArray(this) && this.length > STEP) spend(min(this.length, LONGEST))
    return apply(native, this, [])
  })
  Object.defineProperty(Array.prototype, Symbol.iterator, { ...hidden, value: Array.prototype.values })
  replace(Iterator.prototype, 'drop', native => function drop(limit) {
    limit = Number(limit)
    if (limit > LONGEST) throw new RangeError(`${limit} is more than can be dropped, the limit is ${LONGEST}`)
    return apply(native, this, [limit])
  })

  // Searching text for text.
  const searched = (text, wanted) => {
    if (text.length * wanted.length > LONGEST_SEARCH) throw new RangeError('these texts are too long to be searched')
    spend(text.length)
  }
  for (const name of ['indexOf', 'lastIndexOf', 'includes', 'split', 'replace', 'replaceAll']) {
    const symbol = { split: Symbol.split, replace: Symbol.replace, replaceAll: Symbol.replace }[name]
    replace(String.prototype, name, native => function (pattern, ...rest) {
      if (this === null || this === undefined) return apply(native, this, [pattern, ...rest])
      if (symbol === undefined && pattern instanceof RegExp) return apply(native, this, [pattern, ...rest])
      if (symbol !== undefined && typeof pattern === 'object' && pattern !== null) {
        if (name === 'replaceAll' && pattern instanceof RegExp && !pattern.flags.includes('g')) {
          throw new TypeError('replaceAll wants a regular expression with the flag g')
        }
        const method = pattern[symbol]
        if (method !== undefined && method !== null) return apply(method, pattern, [this, ...rest])
      }
      const text = String(this)
      if (pattern === undefined && name === 'split') return apply(native, text, [pattern, ...rest])
      const wanted = String(pattern)
      searched(text, wanted)
      return apply(native, text, [wanted, ...rest])
    })
  }
  replace(String.prototype, 'normalize', native => function (...rest) {
    const text = this === null || this === undefined ? this : String(this)
    if (text?.length > LONGEST_TEXT) throw new RangeError(`${text.length} characters are too many to be normalised`)
    return apply(native, text, rest)
  })
  replace(String.prototype, 'localeCompare', native => function (other) {
    const text = this === null || this === undefined ? this : String(this), against = String(other)
    if (text?.length > LONGEST_TEXT || against.length > LONGEST_TEXT) throw new RangeError('texts too long to compare')
    return apply(native, text, [against])
  })
  for (const name of ['repeat', 'padStart', 'padEnd', 'toUpperCase', 'toLowerCase']) {
    replace(String.prototype, name, native => function (...rest) {
      const text = apply(native, this, rest)
      spend(text.length)
      return text
    })
  }
  String.raw = function raw(strings, ...values) {
    const parts = listed(strings.raw)
    let text = ''
    for (let i = 0; i < parts.length; i++) {
      text += String(parts[i]) + (i + 1 < parts.length && i < values.length ? String(values[i]) : '')
    }
    return text
  }

  replace(JSON, 'stringify', native => function (value, replacer, space) {
    if (isArray(replacer)) bounded(replacer.length)
    const text = native(value, replacer, space)
    spend(text?.length ?? 0)
    return text
  })
  replace(JSON, 'parse', native => function (text, reviver) {
    text = String(text)
    spend(text.length)
    return native(text, reviver)
  })
  for (const name of ['keys', 'values', 'entries', 'assign', 'getOwnPropertyNames', 'getOwnPropertyDescriptors']) {
    replace(Object, name, native => function (...rest) {
      const found = apply(native, this, rest)
      spend(found.length ?? LONGEST)
      return found
    })
  }
  const typed = Object.getPrototypeOf(Uint8Array.prototype)
  for (const name of ['fill', 'set', 'slice', 'sort', 'reverse', 'join', 'copyWithin', 'toSorted', 'toReversed']) {
    replace(typed, name, native => function (...rest) {
      spend(this.length)
      return apply(native, this, rest)
    })
  }
})
