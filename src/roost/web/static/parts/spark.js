// Sparklines: the last hour of a stream as a small line. Its figures stand beside it as text, so it is decoration.

import { s } from "../core/dom.js";

const WIDTH = 140;
const HEIGHT = 32;
const EDGE = 3;

/** Points are [ms, number]; the element is made once and drawn again. */
export function spark() {
  const line = s("path", { fill: "none", stroke: "var(--series-1)", "stroke-width": 1.6, "stroke-linejoin": "round" });
  const end = s("circle", { r: 2.4, fill: "var(--series-1)", cx: -9, cy: -9 });
  const element = s(
    "svg",
    { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    line,
    end,
  );
  element.show = (points) => {
    const drawn = path(points);
    line.setAttribute("d", drawn.d);
    end.setAttribute("cx", drawn.x);
    end.setAttribute("cy", drawn.y);
  };
  return element;
}

function path(points) {
  if (points.length < 2) return { d: "", x: -9, y: -9 };
  const from = points[0][0];
  const wide = points.at(-1)[0] - from || 1;
  let low = Infinity;
  let high = -Infinity;
  for (const [, value] of points) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const tall = high - low || 1;
  const flat = high === low;
  const at = ([time, value]) => [
    EDGE + ((time - from) / wide) * (WIDTH - 2 * EDGE),
    flat ? HEIGHT / 2 : HEIGHT - EDGE - ((value - low) / tall) * (HEIGHT - 2 * EDGE),
  ];
  const placed = points.map(at);
  const d = placed.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  const [x, y] = placed.at(-1);
  return { d, x, y };
}
