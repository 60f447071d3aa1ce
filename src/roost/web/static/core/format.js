// How numbers, times and names read. Times of the API are nanoseconds; JavaScript has milliseconds.

const UNITS = { Cel: "°C", "%RH": "% RH", lx: "lx", W: "W", kWh: "kWh", ppm: "ppm", "%": "%", "/": "", degF: "°F" };
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let ahead = 0; // how far the node's clock is ahead of ours, in ms

/** Learn what time it is at the node. */
export function setClock(now) {
  ahead = ms(now) - Date.now();
}

/** The time at the node, in ms. */
export function nodeNow() {
  return Date.now() + ahead;
}

export function ms(ns) {
  return Number(ns) / 1e6;
}

/** Milliseconds as the API takes them: digits of nanoseconds, more than a JavaScript number holds exactly. */
export function ns(milliseconds) {
  return `${Math.round(milliseconds)}000000`;
}

export function unit(name) {
  return name ? (UNITS[name] ?? name) : "";
}

/** A measured number, with the digits that matter. */
export function number(value) {
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e9)) return value.toExponential(3);
  const digits = size >= 1000 ? 1 : size >= 1 ? 2 : 4;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

/** A count, short when it is large. */
export function count(value) {
  if (value === null || value === undefined) return "–";
  if (value < 100_000) return value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 });
  return value.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
}

/** "1 run", "2 runs". */
export function counted(amount, one, many = `${one}s`) {
  return `${count(amount)} ${amount === 1 ? one : many}`;
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const steps = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = value;
  let step = 0;
  while (size >= 1024 && step < steps.length - 1) {
    size /= 1024;
    step += 1;
  }
  return `${size.toLocaleString("en", { maximumFractionDigits: size < 10 && step ? 1 : 0 })} ${steps[step]}`;
}

/** A value as text: numbers with digits that matter, text as it is, the rest as JSON. */
export function value(given) {
  if (given === null || given === undefined) return "–";
  if (typeof given === "number") return number(given);
  if (typeof given === "string") return given;
  if (typeof given === "boolean") return given ? "true" : "false";
  if (typeof given.base64 === "string") return `${Math.floor((given.base64.length * 3) / 4)} bytes`;
  return JSON.stringify(given);
}

/** What was measured: the number `value` of an object, as results of pipelines have it; else all of it. */
export function measured(given) {
  return typeof given?.value === "number" ? given.value : given;
}

/** What else such an object says, as text. */
export function details(given) {
  if (measured(given) === given) return "";
  return Object.entries(given)
    .filter(([name]) => name !== "value" && name !== "unit" && name !== "quality")
    .map(([name, each]) => `${name} ${value(each)}`)
    .join(" · ");
}

/** Who made a stream that nobody measured: results of macros are on Noctua/<name> behind their panel. */
export function maker({ stream, group, panel, virtual }) {
  if (!virtual) return "";
  return stream.startsWith(`${group}/${panel}/Noctua/`) ? "made by a macro" : "made by a pipeline";
}

export function valueWithUnit(given, name) {
  const shown = value(measured(given));
  const suffix = unit(name);
  return suffix ? `${shown}\u202f${suffix}` : shown;
}

/** How long ago a time of the API is. */
export function ago(time) {
  if (time === null || time === undefined) return "never";
  const passed = nodeNow() - ms(time);
  if (passed < -2000) return `in ${span(-passed)}`;
  return passed < 1500 ? "just now" : `${span(passed)} ago`;
}

/** A duration in ms, with one or two of its parts. */
export function span(passed) {
  if (passed < 1000) return `${Math.round(passed)} ms`;
  if (passed < MINUTE) return `${Math.floor(passed / 1000)} s`;
  if (passed < HOUR) return two(Math.floor(passed / MINUTE), "min", Math.floor((passed % MINUTE) / 1000), "s", 10);
  if (passed < DAY) return two(Math.floor(passed / HOUR), "h", Math.floor((passed % HOUR) / MINUTE), "min", 10);
  return two(Math.floor(passed / DAY), "d", Math.floor((passed % DAY) / HOUR), "h", 10);
}

function two(large, largeUnit, small, smallUnit, from) {
  return large >= from || !small ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const FULL = new Intl.DateTimeFormat("en-GB", {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const DATE = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });
const SHORT = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

export function clock(milliseconds) {
  return CLOCK.format(milliseconds);
}

export function when(milliseconds) {
  return FULL.format(milliseconds);
}

/** A time as short as it can be: of today the clock alone. */
export function moment(milliseconds) {
  const [date, today] = [new Date(milliseconds), new Date()];
  return date.toDateString() === today.toDateString() ? CLOCK.format(date) : FULL.format(date);
}

/** A time on an axis whose ticks are `step` ms apart. */
export function tick(milliseconds, step) {
  const date = new Date(milliseconds);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
  if (step >= DAY || (isMidnight && step >= HOUR)) return DATE.format(date);
  return step >= MINUTE ? SHORT.format(date) : CLOCK.format(date);
}

/** The last parts of a name, for people; the whole name stands elsewhere. */
export function tail(name, parts = 2) {
  return decoded(name).split("/").filter(Boolean).slice(-parts).join(" / ");
}

/** The parts of a name but the last ones. */
export function headOf(name, parts = 2) {
  return `/${decoded(name).split("/").filter(Boolean).slice(0, -parts).join("/")}`;
}

/** The group above a stream, as far as a name tells: what follows it. */
export function below(group, name) {
  return name.startsWith(`${group}/`) ? decoded(name.slice(group.length + 1)) : decoded(name);
}

/** A name with its percent-encoding undone, where that is text. */
export function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** A name or topic as a path of the API or of this page: its slashes stay. */
export function path(name) {
  return name.replace(/^\//, "").split("/").map(encodeURIComponent).join("/");
}
