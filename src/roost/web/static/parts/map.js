// The campus map: what layout.js placed, drawn. Whoever is pointed at, or has the focus, has its links shown alone.

import { fresh, h, s } from "../core/dom.js";
import * as format from "../core/format.js";
import { to } from "../core/routes.js";
import { strokes } from "./icons.js";
import { layout } from "./layout.js";
import { fit } from "./text.js";

const KINDS = { node: "node", repo: "repo", gate: "MQTT gate", panel: "panel" };
const HEALTH = { ok: "in step", lagging: "lagging", silent: "silent", unknown: "not known" };

/** Draw a campus for a width; onPick(node) is told which node was chosen. Groups lead to their streams. */
export function campusMap(campus, width, onPick) {
  const placed = layout(campus, width);
  const links = s(
    "g",
    {},
    placed.links.map((each) => link(each, placed.chips)),
  );
  const chips = s(
    "g",
    {},
    [...placed.chips].map(([key, chip]) => (chip.kind === "group" ? group(key, chip) : member(key, chip, onPick))),
  );
  const drawing = s(
    "svg",
    {
      viewBox: `0 0 ${placed.width} ${placed.height}`,
      width: placed.width,
      height: placed.height,
      role: "group",
      "aria-label": "Map of the campus",
    },
    placed.boxes.map(building),
    links,
    chips,
  );
  const light = (key) => {
    const near = new Set([key]);
    for (const each of links.children) {
      const { from, to: other } = each.dataset;
      const touches = key !== null && (from === key || other === key);
      if (touches) near.add(from).add(other);
      each.classList.toggle("faded", key !== null && !touches);
    }
    for (const each of chips.children) each.classList.toggle("faded", key !== null && !near.has(each.dataset.key));
  };
  for (const each of chips.children) {
    each.addEventListener("pointerenter", () => light(each.dataset.key));
    each.addEventListener("pointerleave", () => light(null));
    each.addEventListener("focus", () => light(each.dataset.key));
    each.addEventListener("blur", () => light(null));
  }
  return h("div", { class: "map" }, drawing);
}

function building(box) {
  return s(
    "g",
    {},
    s("rect", {
      class: "building",
      x: box.x + 0.5,
      y: box.y + 0.5,
      width: box.width - 1,
      height: box.height - 1,
      rx: 14,
    }),
    s("text", { class: "title", x: box.x + 18, y: box.y + 27 }, fit(box.name || "Everywhere", box.width - 36, 15, 650)),
  );
}

function member(key, chip, onPick) {
  const { item } = chip;
  const what = `${KINDS[item.kind] ?? item.kind}${item.self ? ", this one" : ""}`;
  const about = item.lag
    ? `${format.count(item.lag)} behind`
    : item.health === "silent" && item.seen
      ? format.ago(item.seen)
      : what;
  const described = fresh("chip");
  const choose = () => onPick(item);
  const element = s(
    "g",
    {
      class: "chip",
      tabindex: "0",
      role: "button",
      "aria-describedby": described,
      transform: `translate(${chip.x} ${chip.y})`,
      data: { key, health: item.health },
      on: {
        click: choose,
        keydown: (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), choose()),
      },
    },
    s("rect", { width: chip.width, height: chip.height, rx: 10 }),
    picture(chip),
    s("text", { class: "name", x: 38, y: 23 }, fit(item.name, chip.width - 62, 13, 600)),
    s("text", { class: "minor", x: 38, y: 40 }, fit(about, chip.width - 46, 11.5)),
    meaning(described, `${what}, ${HEALTH[item.health] ?? HEALTH.unknown}`),
    mark(item.health, chip.width - 15, 15),
  );
  return element;
}

function group(key, chip) {
  const { item } = chip;
  const rate = `${format.number(item.rate ?? 0)}/s`;
  const described = fresh("chip");
  return s(
    "a",
    {
      class: "chip group",
      href: to.streams({ group: item.name }),
      transform: `translate(${chip.x} ${chip.y})`,
      data: { key },
      "aria-describedby": described,
    },
    s("rect", { width: chip.width, height: chip.height, rx: 10 }),
    s("text", { class: "name", x: 14, y: 23 }, fit(item.label || format.tail(item.name, 1), chip.width - 28, 13, 600)),
    s(
      "text",
      { class: "minor", x: 14, y: 40 },
      fit(`${format.counted(item.streams, "stream")} · ${rate}`, chip.width - 28, 11.5),
    ),
    item.stale ? [meaning(described, `${item.stale} stale`), mark("lagging", chip.width - 15, 15)] : null,
  );
}

/** What the marks of a chip mean, for those who do not see them; its texts are its name. */
function meaning(id, text) {
  return s("text", { id, visibility: "hidden" }, text);
}

function picture(chip) {
  return s(
    "g",
    { transform: `translate(11 ${chip.height / 2 - 10}) scale(0.84)` },
    s("path", { class: "icon", d: strokes(chip.kind) ?? strokes("node") }),
  );
}

/** Health in colour and in shape. */
function mark(health, x, y) {
  const at = { transform: `translate(${x} ${y})`, class: `mark-${health}` };
  if (health === "ok") return s("circle", { ...at, r: 5 });
  if (health === "lagging") return s("path", { ...at, d: "M0 -6L6 5H-6z" });
  if (health === "silent") return s("path", { ...at, d: "M-5 -5H5V5H-5z" });
  return s("circle", { ...at, class: "mark-unknown", r: 4.5 });
}

function link({ from, to: other, kind, health }, chips) {
  const [a, b] = [chips.get(from), chips.get(other)];
  const flows = kind !== "uplink" ? " flow" : "";
  return s("path", {
    class: `link ${kind}${flows}`,
    d: curve(a, b),
    data: { from, to: other, health: health ?? "unknown" },
  });
}

function curve(a, b) {
  const middle = (chip) => ({ x: chip.x + chip.width / 2, y: chip.y + chip.height / 2 });
  const [p, q] = [middle(a), middle(b)];
  if (Math.abs(p.y - q.y) < a.height) {
    const dip = p.y + a.height / 2 + 16 + Math.min(24, Math.abs(p.x - q.x) / 24);
    return `M${p.x} ${p.y}C${p.x} ${dip} ${q.x} ${dip} ${q.x} ${q.y}`;
  }
  const half = (p.y + q.y) / 2;
  return `M${p.x} ${p.y}C${p.x} ${half} ${q.x} ${half} ${q.x} ${q.y}`;
}
