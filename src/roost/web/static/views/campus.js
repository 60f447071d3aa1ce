// The campus: what there is, how it is, what just came; and for who is new, what this is and what to try.

import { get } from "../core/api.js";
import { fill, h, say } from "../core/dom.js";
import * as format from "../core/format.js";
import { to } from "../core/routes.js";
import { openDialog } from "../parts/dialog.js";
import { button, card, facts, figure, head, health, table } from "../parts/frame.js";
import { Feed } from "../parts/feed.js";
import { guideOf } from "../parts/guide.js";
import { campusMap } from "../parts/map.js";
import { empty, trouble, waiting } from "../parts/notice.js";
import { spark } from "../parts/spark.js";

const POLL_MS = 2500;
const MAX_RATES = 60;

export async function show({ scope }) {
  const place = h("div", { class: "map-place" }, waiting());
  const drawing = new Drawing(place, scope);
  const numbers = new Numbers(scope);
  const feed = new Feed(scope);
  const asTable = button("As a table", () => drawing.turn(asTable), {
    sign: "table",
    kind: "slim quiet",
    "aria-pressed": "false",
  });
  const wrong = h("div", { class: "wrong-place" });
  const round = async () => {
    const campus = await get("/campus", {}, scope.signal);
    fill(wrong);
    drawing.show(campus);
    numbers.show(campus);
  };
  scope.every(POLL_MS, () =>
    scope.run(round, (error) => (error.status || !drawing.campus) && fill(wrong, trouble(error))),
  );
  scope.onBack(() => scope.run(round));
  feed.start();
  const guide = h("div", {});
  scope.run(async () => fill(guide, await guideOf(scope)));
  return h(
    "div",
    {},
    head(
      "Campus",
      "Everything this node knows of: who publishes, which groups the readings are in, and who keeps them.",
    ),
    wrong,
    guide,
    numbers.element,
    h(
      "div",
      { class: "columns below" },
      card("Map", place, { actions: [legend(), asTable], props: { class: "two-thirds wide-map" } }),
      card("Just in", feed.element, {
        text: "The newest readings of a few streams, as they arrive.",
        props: { class: "third" },
      }),
    ),
  );
}

/** The map for the width that it has, or a table of the same. */
class Drawing {
  constructor(place, scope) {
    this.place = place;
    this.isTable = false;
    this.campus = null;
    this.key = "";
    const observer = new ResizeObserver(() => this.draw());
    observer.observe(place);
    scope.onEnd(() => observer.disconnect());
  }

  show(campus) {
    // What is on its way to a repo that is in step is no news.
    const nodes = campus.nodes.map((each) => (each.lag && each.health === "ok" ? { ...each, lag: 0 } : each));
    this.campus = { ...campus, nodes };
    this.draw();
  }

  turn(control) {
    this.isTable = !this.isTable;
    control.setAttribute("aria-pressed", String(this.isTable));
    this.key = "";
    this.draw();
  }

  draw() {
    const width = Math.floor(this.place.clientWidth);
    if (!this.campus || !width) return;
    const key = `${width} ${this.isTable} ${JSON.stringify([this.campus.nodes.map((each) => ({ ...each, seen: each.health === "silent" ? format.ago(each.seen) : 0 })), this.campus.groups, this.campus.links])}`;
    if (key === this.key) return;
    this.key = key;
    const focused = this.place.contains(document.activeElement) ? document.activeElement.dataset?.key : null;
    fill(this.place, this.content(width));
    if (focused) [...this.place.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused)?.focus();
  }

  content(width) {
    const { nodes, groups } = this.campus;
    if (!nodes.length && !groups.length) {
      return empty(
        "Nothing publishes here yet",
        "Give this node a group, or send it something over MQTT; both appear here by themselves.",
      );
    }
    return this.isTable ? tables(this.campus) : campusMap(this.campus, width, about);
  }
}

function tables({ nodes, groups }) {
  return h(
    "div",
    { class: "stack" },
    table(
      [
        ["Node", (each) => each.name],
        ["Kind", (each) => each.kind],
        ["Building", (each) => each.building || "–"],
        ["Health", (each) => health(each.health)],
        ["Behind", (each) => format.count(each.lag), "number"],
        ["Heard of", (each) => format.ago(each.seen)],
      ],
      nodes,
      { caption: "Nodes" },
    ),
    table(
      [
        ["Group", (each) => h("a", { href: to.streams({ group: each.name }) }, each.label || each.name)],
        ["Building", (each) => each.building || "–"],
        ["Streams", (each) => format.count(each.streams), "number"],
        ["Readings", (each) => format.count(each.readings), "number"],
        ["Rate", (each) => `${format.number(each.rate)}/s`, "number"],
        ["Stale", (each) => format.count(each.stale), "number"],
      ],
      groups,
      { caption: "Groups" },
    ),
  );
}

function about(item) {
  const dialog = openDialog(item.name, [
    facts([
      ["Kind", item.kind],
      ["Health", health(item.health)],
      ["Behind", item.lag === null ? "" : `${format.count(item.lag)} readings`],
      ["Heard of", item.seen ? format.ago(item.seen) : ""],
      ["Building", item.building],
      ["Address", item.uri],
      [
        "Groups",
        item.groups?.length
          ? h(
              "span",
              { class: "stack tight" },
              item.groups.map((each) =>
                h("a", { href: to.streams({ group: each }), on: { click: () => dialog.close() } }, each),
              ),
            )
          : "",
      ],
      ["Name", item.id],
    ]),
    h(
      "div",
      { class: "buttons" },
      h("button", { class: "button", type: "button", on: { click: () => dialog.close() } }, "Close"),
    ),
  ]);
}

function legend() {
  return h("span", { class: "legend" }, health("ok"), health("lagging"), health("silent"));
}

/** The numbers that matter, and the rate of the last minutes as a line. */
class Numbers {
  constructor(scope) {
    this.rates = [];
    this.line = spark();
    this.cells = Object.fromEntries(["streams", "readings", "rate", "health"].map((each) => [each, h("span", {})]));
    this.alerts = h("span", {}, "0");
    const { streams, readings, rate, health: state } = this.cells;
    this.element = h(
      "dl",
      { class: "figures" },
      figure("Streams", streams),
      figure("Readings kept", readings),
      figure("Coming in", rate, this.line),
      figure("In step", state),
      figure("Alerts", h("a", { href: "#/alerts" }, this.alerts)),
    );
    scope.listen(window, "roost:alerts", (event) => say(this.alerts, String(event.detail.length)));
    const known = document.getElementById("alert-count")?.textContent;
    if (known) say(this.alerts, known);
  }

  show({ groups, nodes }) {
    const sum = (key) => groups.reduce((total, each) => total + (each[key] ?? 0), 0);
    const rate = sum("rate");
    this.rates.push([Date.now(), rate]);
    if (this.rates.length > MAX_RATES) this.rates.shift();
    this.line.show(this.rates);
    say(this.cells.streams, format.count(sum("streams")));
    say(this.cells.readings, format.count(sum("readings")));
    say(this.cells.rate, `${format.number(rate)}/s`);
    const known = nodes.filter((each) => each.health !== "unknown");
    say(this.cells.health, `${known.filter((each) => each.health === "ok").length} of ${known.length}`);
  }
}
