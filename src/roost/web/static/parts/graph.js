// A graph from left to right: groups and the stages between them, each behind everything that leads to it.
// An edge that closes a circle, as of a stage that publishes into the group that it reads, goes back.

import { s } from "../core/dom.js";
import { fit } from "./text.js";

const WIDE = 136;
const TALL = 66;
const ACROSS = 24;
const DOWN = 16;
const LONG = 1080; // wider graphs are not made smaller than that: one scrolls

/** nodes: {key, title, lines, kind}; edges: [from key, to key]. */
export function graph(nodes, edges, label) {
  const back = closing(nodes, edges);
  const layers = layered(
    nodes,
    edges.filter((each) => !back.has(each)),
  );
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
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": label,
      class: width > LONG ? "long" : null,
    },
    edges.map((each) => {
      const [from, to] = each.map((key) => places.get(key));
      return back.has(each) ? arrowBack(from, to) : arrow(from, to);
    }),
    nodes.map((node) => box(node, places.get(node.key))),
  );
}

/** The edges that lead to where one has been already, going on from the first node. */
function closing(nodes, edges) {
  const found = new Set();
  const done = new Set();
  const walk = (key, above) => {
    if (done.has(key)) return;
    for (const edge of edges.filter(([from]) => from === key)) {
      if (edge[1] === key || above.has(edge[1])) found.add(edge);
      else walk(edge[1], new Set([...above, key]));
    }
    done.add(key);
  };
  for (const node of nodes) walk(node.key, new Set());
  return found;
}

/** Each node one layer behind the last of those that lead to it. */
function layered(nodes, edges) {
  const depth = new Map();
  const visit = (key) => {
    if (!depth.has(key)) {
      const before = edges.filter(([, to]) => to === key).map(([from]) => visit(from));
      depth.set(key, Math.max(-1, ...before) + 1);
    }
    return depth.get(key);
  };
  const layers = [];
  for (const node of nodes) {
    const at = visit(node.key);
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

/** From the left of what stands behind to the right of what stands before it, below the arrow that goes there. */
function arrowBack(from, to) {
  const [x, y] = [from.x, from.y + TALL - 14];
  const [u, v] = [to.x + WIDE, to.y + TALL - 14];
  const half = (x + u) / 2;
  return [
    s("path", { class: "link flow", d: `M${x} ${y}C${half} ${y} ${half} ${v} ${u + 6} ${v}` }),
    s("path", { class: "arrow", d: `M${u + 8} ${v - 4.5}L${u} ${v}L${u + 8} ${v + 4.5}z` }),
  ];
}

function box(node, place) {
  return s(
    "g",
    { class: `chip ${node.kind}`, transform: `translate(${place.x} ${place.y})` },
    s("title", {}, node.title),
    s("rect", { width: WIDE, height: TALL, rx: node.kind === "stage" ? 24 : 10 }),
    s("text", { class: "name", x: 14, y: 24 }, fit(node.title, WIDE - 22, 13, 600)),
    node.lines.map((line, index) =>
      s("text", { class: "minor", x: 14, y: 41 + index * 14 }, fit(line, WIDE - 22, 11.5)),
    ),
  );
}
