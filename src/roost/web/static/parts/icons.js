// Icons, drawn on a grid of 24: strokes only, in the colour of the text beside them.

import { s } from "../core/dom.js";

const PATHS = {
  campus: "M4 20V9l6-4v15M10 20V11h10v9M3 20h18M7 12v0M7 16v0M14 15v0M17 15v0",
  streams: "M3 12h4l3-7 4 14 3-7h4",
  macros: "M8 6l-5 6 5 6M16 6l5 6-5 6M13.5 4l-3 16",
  roles:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c.6-3.6 3-5.5 6.5-5.5s5.9 1.9 6.5 5.5M16 4.3a3.5 3.5 0 0 1 0 6.4M18 15c2 .8 3.2 2.5 3.5 5",
  pipelines: "M3 6h6v5H3zM15 4h6v5h-6zM15 15h6v5h-6zM9 8.5h3M12 6.5h3M12 6.5v11h3",
  network:
    "M12 8.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM5 20.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM19 20.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM10.8 8.2l-4.6 7.6M13.2 8.2l4.6 7.6M7.5 18h9",
  alerts: "M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 21h4",
  demo: "M13 3L5 14h6l-1 7 8-11h-6z",
  menu: "M4 7h16M4 12h16M4 17h16",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  half: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17zM12 3.5v17M12 7.5h7M12 12h8.5M12 16.5h7",
  check: "M5 12.5l4.5 4.5L19 7",
  cross: "M6 6l12 12M18 6L6 18",
  warning: "M12 4L2.5 20h19zM12 10v4.5M12 17.3v.2",
  info: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17zM12 11v5M12 8v.2",
  question:
    "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17zM9.5 9.5a2.5 2.5 0 1 1 3.6 2.2c-.8.5-1.1.9-1.1 1.8M12 16.5v.2",
  seal: "M12 3l7 3v5.5c0 4.5-3 7.7-7 9.5-4-1.8-7-5-7-9.5V6zM8.8 12l2.2 2.2 4.2-4.4",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  panel: "M4 5h16v12H4zM9 21h6M12 17v4M8 13l2.5-3 2 2 3.5-4",
  gate: "M4 20V8l8-4 8 4v12M9 20v-7h6v7M4 20h16",
  repo: "M4 7c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3zM4 7v10c0 1.7 3.6 3 8 3s8-1.3 8-3V7M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3",
  node: "M5 5h14v5H5zM5 14h14v5H5zM8 7.5v0M8 16.5v0",
  download: "M12 4v11M7.5 11L12 15.5 16.5 11M5 20h14",
  play: "M7 5l12 7-12 7z",
  plus: "M12 5v14M5 12h14",
  table: "M4 5h16v14H4zM4 10h16M4 14.5h16M10 10v9",
  chart: "M4 4v16h16M7.5 15l3.5-5 3 3 4.5-6.5",
  back: "M10 6l-6 6 6 6M4 12h16",
  right: "M9 6l6 6-6 6",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5c.8-4 3.6-6 7.5-6s6.7 2 7.5 6",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L21 21",
};

/** An icon; it says nothing by itself, the text beside it does. */
export function icon(name, size = 20) {
  return s(
    "svg",
    { viewBox: "0 0 24 24", width: size, height: size, "aria-hidden": "true", focusable: "false" },
    s("path", {
      d: PATHS[name],
      fill: "none",
      stroke: "currentColor",
      "stroke-width": 1.8,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
    }),
  );
}

/** The strokes alone, to stand in a drawing. */
export function strokes(name) {
  return PATHS[name];
}
