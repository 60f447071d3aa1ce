// The end of taming: what a macro cannot have is taken away, and all that is left is frozen, so that no run changes
// what the next one finds. Evaluated last.
//
// Builtins move to a frozen prototype of the global object, which is empty then: what a macro leaves there is seen at
// once. Methods that programs like to set on their own objects (`toString`, `message` …) stay settable, though they
// are inherited from something frozen.
(function (shared) {
  'use strict'
  // a macro may hide them
  const { EvalError, TypeError } = globalThis
  const { defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object
  const { ownKeys } = Reflect
  const global = globalThis

  // Nothing that waits, that shares, that sees the collector or the clock, that makes code of text, or that takes long
  // in one step.
  for (const name of ['eval', 'queueMicrotask', 'SharedArrayBuffer', 'Atomics', 'Promise', 'AsyncDisposableStack',
    'WeakRef', 'FinalizationRegistry', 'performance', 'DOMException', 'Proxy', 'BigInt', 'BigInt64Array',
    'BigUint64Array', 'gc', 'navigator']) delete global[name]
  for (const name of ['getBigInt64', 'getBigUint64', 'setBigInt64', 'setBigUint64']) delete DataView.prototype[name]
  for (const name of ['stackTraceLimit', 'prepareStackTrace', 'captureStackTrace']) delete Error[name]
  delete Array.fromAsync

  const hidden = [
    function* () {}, async function () {}, async function* () {}, () => {},
    [].values(), ''[Symbol.iterator](), new Map().entries(), new Set().values(), 'x'.matchAll(/x/g),
    [].values().map(Boolean),
    Iterator.from({ next() {} }), Iterator.concat?.([]), (function* () {})(), (async function* () {})(), /x/,
    (function () { return arguments })(),
  ].filter(each => each !== undefined)

  const unmade = function Function() {
    throw new EvalError('a macro makes no code of text')
  }
  defineProperty(unmade, 'prototype', { value: Function.prototype, writable: false })
  for (const each of [Function.prototype, ...hidden.slice(0, 3).map(getPrototypeOf)]) {
    defineProperty(each, 'constructor', { value: unmade, writable: false, enumerable: false, configurable: true })
  }
  global.Function = unmade

  function settable(owner, name) {
    const { value } = getOwnPropertyDescriptor(owner, name)
    defineProperty(owner, name, {
      get: () => value,
      set(other) {
        if (this === owner) throw new TypeError(`${name} is frozen`)
        defineProperty(this, name, { value: other, writable: true, enumerable: true, configurable: true })
      },
      enumerable: false,
      configurable: false,
    })
  }
  for (const name of ['constructor', 'toString', 'toLocaleString', 'valueOf', 'hasOwnProperty']) {
    settable(Object.prototype, name)
  }
  for (const kind of [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, InternalError,
    AggregateError, SuppressedError]) {
    for (const name of ['constructor', 'name', 'message']) settable(kind.prototype, name)
  }
  settable(Error.prototype, 'toString')

  const builtins = {}
  const movable = ownKeys(global).filter(name => getOwnPropertyDescriptor(global, name).configurable)
  for (const name of movable) defineProperty(builtins, name, { value: global[name], enumerable: false })
  const found = new Set([builtins, ...hidden])
  const find = part => {
    if (((typeof part === 'object' && part !== null) || typeof part === 'function') && part !== global) found.add(part)
  }
  for (const each of found) {
    const names = ownKeys(each)
    for (let i = 0; i < names.length; i++) {
      const { value, get, set } = getOwnPropertyDescriptor(each, names[i])
      find(value)
      find(get)
      find(set)
    }
    find(getPrototypeOf(each))
    freeze(each)
  }
  setPrototypeOf(global, builtins)
  for (const name of movable) delete global[name]
  shared.builtins = builtins
})
