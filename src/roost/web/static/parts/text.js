// Text in drawings, which has no room of its own: cut where it would not fit.

const pen = document.createElement("canvas").getContext("2d");
const widths = new Map();
const MAX_KEPT = 4000;
let family = null;

function wide(text, size, weight) {
  const key = `${weight} ${size} ${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    family ??= getComputedStyle(document.body).fontFamily;
    pen.font = `${weight} ${size}px ${family}`;
    width = pen.measureText(text).width;
    if (widths.size >= MAX_KEPT) widths.clear();
    widths.set(key, width);
  }
  return width;
}

/** The text, or as much of it as fits with an ellipsis. */
export function fit(text, width, size, weight = 400) {
  if (wide(text, size, weight) <= width) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const half = Math.ceil((low + high) / 2);
    if (wide(`${text.slice(0, half)}…`, size, weight) <= width) low = half;
    else high = half - 1;
  }
  return `${text.slice(0, low).trimEnd()}…`;
}
