// A graph from left to right: groups and the stages between them, each behind everything that leads to it.

import { s } from "../core/dom.js";
import { fit } from "./text.js";

const WIDE = 150;
const TALL = 62;
const ACROSS = 38;
const DOWN = 18;

/** nodes: {key, title, lines, kind, href}; edges: [from key, to key]. Cycles are cut where they close. */
export function graph(nodes, edges, label) {
  const layers = layered(nodes, edges);
  const most = Math.max(...layers.map((each) => each.length));
  const height = most * (TALL + DOWN) - DOWN + 4;
  const places = new Map();
  layers.forEach((layer, column) => {
    const top = (height - (layer.length * (TALL + DOWN) - DOWN)) / 2;
    layer.forEach((node, row) =>
      places.set(node.key, { x: 2 + column * (WIDE + ACROSS), y: top + row * (TALL + DOWN) }),
    );
  });
  const width = layers.length * (WIDE + ACROSS) - ACROSS + 4;
  return s(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label },
    edges.map(([from, to]) => arrow(places.get(from), places.get(to))),
    nodes.map((node) => box(node, places.get(node.key))),
  );
}

/** Each node one layer behind the last of those that lead to it. */
function layered(nodes, edges) {
  const depth = new Map();
  const visit = (key, above) => {
    if (depth.has(key)) return depth.get(key);
    if (above.has(key)) return -1;
    above.add(key);
    const before = edges.filter(([, to]) => to === key).map(([from]) => visit(from, above));
    above.delete(key);
    depth.set(key, Math.max(-1, ...before) + 1);
    return depth.get(key);
  };
  const layers = [];
  for (const node of nodes) {
    const at = visit(node.key, new Set());
    while (layers.length <= at) layers.push([]);
    layers[at].push(node);
  }
  return layers.filter((each) => each.length);
}

function arrow(from, to) {
  const [x, y] = [from.x + WIDE, from.y + TALL / 2];
  const [u, v] = [to.x, to.y + TALL / 2];
  const half = (x + u) / 2;
  return [
    s("path", { class: "link flow", d: `M${x} ${y}C${half} ${y} ${half} ${v} ${u - 6} ${v}` }),
    s("path", { class: "arrow", d: `M${u - 8} ${v - 4.5}L${u} ${v}L${u - 8} ${v + 4.5}z` }),
  ];
}

function box(node, place) {
  return s(
    "g",
    { class: `chip ${node.kind}`, transform: `translate(${place.x} ${place.y})` },
    s("title", {}, node.title),
    s("rect", { width: WIDE, height: TALL, rx: node.kind === "stage" ? 31 : 10 }),
    s("text", { class: "name", x: node.kind === "stage" ? 22 : 14, y: 25 }, fit(node.title, WIDE - 36, 13, 600)),
    node.lines.map((line, index) =>
      s("text", { class: "minor", x: node.kind === "stage" ? 22 : 14, y: 43 + index * 14 }, fit(line, WIDE - 36, 11.5)),
    ),
  );
}
