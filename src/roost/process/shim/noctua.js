// What a macro sees of its node: `Noctua`, `console`, and the run around it. Evaluated first, while nothing is tamed.
//
// A run takes its inputs as one list of arguments, and their shape as JSON, which is mostly that of the run before: 1
// for details or 0, then per reference how many values it has, or −1 if they are one argument, as JSON, or −2 for the
// same with marks for what JSON does not have. A value of a reference with wildcards is two arguments, topic and value;
// in detail it is five. It gives one text, whose first letter says what follows:
//
//     n number   s text   t text as JSON   j JSON   b bytes in hex   u nothing   o too long   f failure
//     m topics that were not given   d details are wanted   e one of the above, with state and logs
//
// The values of a run are held, if they are few, so that the next one need only be given what is new (`step`). Where the
// macro has its inputs as parameters (`roost.process.inlining`) they are handed in without a call of `topic`.
//
// There is a `!` before the text if the macro has left something behind that cannot be taken away: then its context is
// remade.
(function (shared) {
  'use strict'
  // a macro may hide them
  const { Array, Error, Map, Number, Object, RangeError, Reflect, String, Symbol, TypeError, Uint8Array } = globalThis
  const { apply, getPrototypeOf, isExtensible, ownKeys } = Reflect
  const { parse, stringify } = JSON
  const { isInteger, isFinite } = Number
  const evaluate = globalThis.eval
  const { includes } = String.prototype, { join, slice } = Array.prototype
  const toHex = Uint8Array.prototype.toHex
  const fromHex = Uint8Array.fromHex
  const typedName = Object.getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get
  const global = globalThis
  const OWN = 3 // NaN, Infinity and undefined, which no one can remove
  const MAX_VALUES = 100000, MAX_REFERENCES = 256, MAX_MESSAGE = 500, MAX_STACK = 4000
  const ROPE = 256 // longer texts may be in pieces, which the binding does not take
  const SHORT = 16 // values that are copied sooner one by one
  const MAX_HELD = 1024, MAX_SHAPES = 16 // values, and layouts that parameters are made for
  const PLAIN = 1, PAIR = 2, DETAIL = 5 // arguments per value
  const SETTINGS = { __proto__: null, cutoff: 0, required: 1, limit: 1, detail: false }

  const limits = { output: 0, state: 0, log: 0 }
  let body, slots = [], named = new Map(), shape, detailed
  let handed, parameters, shapes = 0 // the body with parameters, their slots, and how often they were laid out
  let held, call // the values of the last run, and how the body is called with them
  let inputs, given, details // of a run; the last two by slot, as far as they were asked for
  let missing, wantsDetail, stateText, state, logs, room, dropped
  shared.time = 0
  shared.seed = shared.other = shared.runs = 0

  // -- topics

  function topic(name, options) {
    if (typeof name !== 'string') throw new TypeError(`a topic is text, not ${typeof name}`)
    let cutoff = 0, required = 1, limit = 1, detail = false
    if (options !== undefined) {
      if (typeof options !== 'object' || options === null) throw new TypeError('the settings of a topic are an object')
      let said = options.cutoff
      if (said !== undefined) cutoff = said
      said = options.required
      if (said !== undefined) required = said
      said = options.limit
      if (said !== undefined) limit = said
      detail = options.detail
    }
    let slot = named.get(name)
    while (slot !== undefined && (slot.required !== required || slot.limit !== limit || slot.cutoff !== cutoff)) {
      slot = slot.next
    }
    if (slot === undefined) return absent(name, options, cutoff, required, limit)
    const { count, at, array, width } = slot
    if (width === PLAIN && !detail) { // what is asked for most
      if (count === 1 && !array) return inputs[at]
      const values = given[slot.number] ??= count === 3 ? [inputs[at], inputs[at + 1], inputs[at + 2]] : flat(slot)
      return array ? values : values[0]
    }
    let values = (detail ? details : given)[slot.number]
    if (values === undefined) {
      if (!detail) values = given[slot.number] = plainly(slot)
      else if (detailed) values = details[slot.number] = inDetail(slot)
      else {
        wantsDetail = true
        values = []
      }
    }
    return array ? values : values[0]
  }

  // What nobody knew of, or what makes no sense.
  function absent(name, options, cutoff, required, limit) {
    const known = options === undefined ? [] : ownKeys(options)
    for (let i = 0; i < known.length; i++) {
      if (!(known[i] in SETTINGS)) {
        throw new TypeError(`a topic has cutoff, required, limit and detail, not ${String(known[i])}`)
      }
    }
    if (!(isFinite(cutoff) && cutoff >= 0)) throw new RangeError('cutoff is a number of seconds, 0 for no limit')
    if (!(isInteger(required) && required >= 0 && required <= MAX_VALUES)) {
      throw new RangeError(`required is 0 to ${MAX_VALUES}`)
    }
    if (!(isInteger(limit) && limit >= 1 && limit <= MAX_VALUES)) throw new RangeError(`limit is 1 to ${MAX_VALUES}`)
    missing ??= new Map()
    if (missing.size <= MAX_REFERENCES) {
      missing.set(`${cutoff} ${required} ${limit} ${name}`, [name, cutoff + 0, required + 0, limit]) // no −0
    }
    return required > 1 || limit > 1 ? [] : undefined
  }

  function flat(slot) {
    const count = slot.count, at = slot.at
    if (count < 0) {
      const values = parse(inputs[at])
      return count === -1 ? values : values.map(unmarked)
    }
    const length = count * slot.width
    if (length === 2) return [inputs[at], inputs[at + 1]] // a few at once are made sooner than one by one
    if (length > SHORT) return apply(slice, inputs, [at, at + length])
    const list = []
    for (let i = 0; i < length; i++) list[i] = inputs[at + i]
    return list
  }

  // Marked values: what JSON has as [value], numbers as their text, bytes as {b: hex}, the rest as {a: …} and {o: …}.
  function unmarked(marked) {
    if (typeof marked === 'string') return Number(marked)
    if ('b' in marked) return fromHex(marked.b)
    if ('a' in marked) return marked.a.map(unmarked)
    if (!('o' in marked)) return marked[0]
    const object = {}
    for (const name of ownKeys(marked.o)) {
      Object.defineProperty(object, name, {
        value: unmarked(marked.o[name]), writable: true, enumerable: true, configurable: true,
      })
    }
    return object
  }

  function plainly(slot) {
    const list = flat(slot), values = []
    for (let i = 0; i < list.length; i += slot.width) {
      const value = slot.width === PAIR ? list[i + 1] : list[i]
      values.push(slot.wild ? { topic: slot.width === PAIR ? list[i] : list[i + 4], value } : value)
    }
    return values
  }

  function inDetail(slot) {
    const list = flat(slot), values = []
    for (let i = 0; i < list.length; i += DETAIL) {
      values.push({ value: list[i], unit: list[i + 1], time: list[i + 2], quality: list[i + 3], topic: list[i + 4] })
    }
    return values
  }

  // -- state and logs

  function getState() {
    return state ??= stateText === '' ? {} : parse(stateText)
  }

  function setState(value) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new TypeError('the state of a macro is an object')
    }
    state = value
  }

  function shown(value) {
    if (typeof value === 'string') return value
    try {
      return (typeof value === 'object' ? stringify(value) : undefined) ?? String(value)
    } catch {
      return 'something that cannot be shown'
    }
  }

  function log(...values) {
    if (room <= 0) {
      dropped++
      return
    }
    let line = ''
    for (let i = 0; i < values.length && line.length < room; i++) line += (i ? ' ' : '') + shown(values[i])
    line = line.slice(0, room).toWellFormed()
    room -= line.length + 1
    logs ??= []
    logs.push(line)
  }

  // -- a run

  function rendered(value) {
    switch (typeof value) {
      case 'number': return `n${value}`
      case 'undefined': return 'u'
      case 'boolean': return `j${value}`
      case 'string':
        if (value.length > limits.output) return `o${value.length}`
        if (value.isWellFormed() && !apply(includes, value, ['\0'])) return `s${value}`
        return `t${stringify(value.toWellFormed())}`
      case 'object': {
        if (value !== null && apply(typedName, value, []) === 'Uint8Array') {
          return value.length > limits.output ? `o${value.length}` : `b${apply(toHex, value, [])}`
        }
        const text = stringify(value)
        if (text === undefined) return 'u'
        return text.length > limits.output ? `o${text.length}` : `j${text}`
      }
      default: throw new TypeError(`a macro gives a value, not a ${typeof value}`)
    }
  }

  function failed(error) {
    let message, stack = ''
    try {
      message = error instanceof Error ? String(error) : `thrown: ${shown(error)}`
      if (typeof error.stack === 'string') stack = error.stack
    } catch {
      message ??= 'something that cannot be shown was thrown'
    }
    return `f${stringify([message.slice(0, MAX_MESSAGE).toWellFormed(), stack.slice(0, MAX_STACK).toWellFormed()])}`
  }

  // Whether globals that the macro left could be taken away.
  function isClean() {
    const keys = ownKeys(global)
    for (let i = keys.length - 1; keys.length > OWN && i >= 0; i--) {
      if (Reflect.deleteProperty(global, keys[i])) keys.length--
    }
    return keys.length === OWN && getPrototypeOf(global) === shared.builtins && isExtensible(global)
  }

  // Where the values of each reference stand among the arguments.
  function lay(text) {
    const [inFull, ...counts] = parse(text)
    shape = text
    detailed = inFull === 1
    let at = 0
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i], count = counts[i]
      slot.count = count
      slot.at = at
      slot.width = detailed ? DETAIL : slot.wild ? PAIR : PLAIN
      at += count < 0 ? 1 : count * slot.width
    }
    call = body
    if (parameters !== undefined && !detailed && shapes < MAX_SHAPES && parameters.every(each => slots[each].count)) {
      shapes++
      try {
        const made = evaluate(`(body,parse,unmarked)=>v=>body(${parameters.map(handing).join()})`)
        call = made(handed, parse, unmarked)
      } catch {
        call = body // there was no memory for it
      }
    }
  }

  // The text that gives a parameter its value; an array is a new one in every run.
  function handing(number) {
    const { count, at, array } = slots[number]
    const value = i => `v[${at + i}]`
    if (count === -1) return array ? `parse(${value(0)})` : `parse(${value(0)})[0]`
    if (count === -2) return array ? `parse(${value(0)}).map(unmarked)` : `unmarked(parse(${value(0)})[0])`
    return array ? `[${Array.from({ length: count }, (_, i) => value(i))}]` : value(0)
  }

  function run(time, high, low, kept, text, ...values) {
    if (text !== shape) lay(text)
    held = values.length <= MAX_HELD ? values : undefined
    return ran(time, high, low, kept, values)
  }

  // A run with the values of the last one, but for those from a place on.
  function step(time, high, low, kept, at, ...values) {
    for (let i = 0; i < values.length; i++) held[at + i] = values[i]
    return ran(time, high, low, kept, held)
  }

  function ran(time, high, low, kept, values) {
    shared.time = time
    shared.seed = high
    shared.other = low
    shared.runs++
    stateText = kept
    inputs = values
    given = []
    details = []
    missing = undefined
    wantsDetail = false
    state = undefined
    logs = undefined
    room = limits.log
    dropped = 0
    let outcome
    try {
      let value = call(values)
      if (typeof value === 'function') value = value() // an anonymous function that is not called in the code
      outcome = rendered(value)
      if (state !== undefined) outcome = withState(outcome)
    } catch (error) {
      outcome = failed(error)
    }
    inputs = given = details = undefined
    if (missing !== undefined) outcome = gaps()
    else if (wantsDetail) outcome = 'd'
    else if (logs !== undefined && outcome[0] !== 'e') outcome = `e${stringify([outcome, null, told()])}`
    if (!isClean()) outcome = `!${outcome}`
    return outcome.length > ROPE ? apply(join, [outcome], ['']) : outcome
  }

  function withState(outcome) {
    const text = stringify(state) ?? '{}'
    if (text === stateText || (text === '{}' && stateText === '')) return outcome
    if (text.length > limits.state) return `o${-text.length}`
    return `e${stringify([outcome, text, told()])}`
  }

  const told = () => (dropped ? [...logs, `${dropped} more`] : logs ?? [])
  const gaps = () => `m${stringify([...missing.values()])}`

  // -- what the engine asks for

  const commands = {
    run: () => run,
    step: () => step,
    limits: (output, state, log) => {
      limits.output = output
      limits.state = state
      limits.log = log
    },
    load: (source, again) => {
      body = again ? () => evaluate(source) : evaluate(source)
    },
    hand: source => {
      handed = evaluate(source)
    },
    bind: (text, handedIn) => {
      named = new Map()
      shape = undefined
      parameters = handedIn === '' ? undefined : parse(handedIn)
      slots = parse(text).map(([topic, cutoff, required, limit, array, wild], number) => {
        const slot = { number, cutoff, required, limit, array, wild, next: named.get(topic) }
        slot.count = slot.at = slot.width = 0
        named.set(topic, slot)
        return slot
      })
    },
    gaps: () => (missing === undefined ? '' : gaps()),
  }

  const noctua = { topic }
  Object.defineProperty(noctua, 'state', { get: getState, set: setState, enumerable: true })
  Object.defineProperty(noctua, 'time', { get: () => shared.time, enumerable: true })
  global.Noctua = noctua
  global.console = { log, info: log, warn: log, error: log, debug: log }
  return (command, ...rest) => commands[command](...rest)
})
