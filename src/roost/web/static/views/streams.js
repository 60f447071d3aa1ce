// All streams: searched and sorted by the node, page by page; only the rows in sight exist, and only they are followed.

import { all, get } from "../core/api.js";
import { fill, h, say } from "../core/dom.js";
import * as format from "../core/format.js";
import { has } from "../core/node.js";
import { to } from "../core/routes.js";
import { card, choices, field, head, tag } from "../parts/frame.js";
import { histories, pointOf } from "../parts/history.js";
import { empty, trouble } from "../parts/notice.js";
import { spark } from "../parts/spark.js";
import { WindowTable } from "../parts/window.js";

const TYPED_MS = 250;
const HOUR_MS = 3_600_000;
const SPARK_POINTS = 40;
const MAX_SPARKS = 600;
const MAX_FOLLOWED = 100;
const ROW = { wide: 52, narrow: 66 };
const COLUMNS = [
  ["Stream", ""],
  ["Value", "number"],
  ["Last hour", "hour"],
  ["Readings", "number readings"],
  ["Last", "last"],
];

export async function show({ scope, parameters }) {
  const asked = {
    match: parameters.get("match") ?? "",
    group: parameters.get("group") ?? "",
    sort: parameters.get("sort") ?? "name",
  };
  const view = new Streams(scope, asked);
  await view.find();
  const controls = view.controls();
  if (has("groups")) scope.run(async () => controls.offer(await all("/groups", {}, scope.signal)));
  return h(
    "div",
    {},
    head(
      "Streams",
      "A stream is a series of readings of one thing: each has a name, a number, a time and a signature.",
    ),
    card(null, [controls, view.state, view.table.element, view.wrong], { flush: true, props: { class: "streams" } }),
  );
}

class Streams {
  constructor(scope, asked) {
    this.scope = scope;
    this.asked = asked;
    this.sparks = new Map(); // points of the last hour, by stream
    this.indices = new Map(); // of the rows that are followed
    this.state = h("p", { class: "window-state hint", role: "status" });
    this.wrong = h("div", {});
    this.narrow = matchMedia("(max-width: 700px)");
    this.table = new WindowTable({
      label: "Streams",
      columns: COLUMNS,
      rowHeight: this.narrow.matches ? ROW.narrow : ROW.wide,
      load: (after, limit) => this.load(after, limit),
      draw: (stream, row) => this.draw(stream, row),
      onSight: (streams, first) => this.sight(streams, first),
    });
    scope.listen(this.narrow, "change", () => this.table.setRowHeight(this.narrow.matches ? ROW.narrow : ROW.wide));
    scope.onEnd(() => this.table.end());
    this.wanted = scope.live({ streams: [] }, { readings: (list) => this.take(list) });
    scope.onBack(() => scope.run(() => this.catchUp()));
    scope.every(10_000, async () => this.indices.forEach((index) => this.table.redraw(index))); // "3 s ago" grows old
  }

  controls() {
    const search = h("input", {
      id: "stream-search",
      type: "search",
      value: this.asked.match,
      placeholder: "room1 temp, or annex/+/+/temp",
      autocomplete: "off",
      spellcheck: "false",
    });
    const group = h(
      "select",
      { id: "stream-group", value: this.asked.group },
      h("option", { value: "" }, "All groups"),
      this.asked.group ? h("option", { value: this.asked.group }, format.tail(this.asked.group, 2)) : null,
    );
    group.value = this.asked.group;
    let timer = null;
    this.scope.onEnd(() => clearTimeout(timer));
    const change = (more) => {
      Object.assign(this.asked, more);
      history.replaceState(
        null,
        "",
        to.streams({ ...this.asked, sort: this.asked.sort === "name" ? "" : this.asked.sort }),
      );
      this.scope.run(
        () => this.find(),
        (error) =>
          fill(
            this.wrong,
            trouble(error, () => change({})),
          ),
      );
    };
    search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => change({ match: search.value.trim() }), TYPED_MS);
    });
    group.addEventListener("change", () => change({ group: group.value }));
    const sorts = [
      ["name", "By name"],
      ["time", "Newest first"],
    ];
    const tools = h(
      "div",
      { class: "window-tools row" },
      field("Search", search, "Words of a name, or a topic filter with + and #"),
      field("Group", group),
      h(
        "div",
        { class: "field fixed" },
        h("span", { class: "label" }, "Order"),
        choices("Order", sorts, this.asked.sort, (sort) => change({ sort })),
      ),
    );
    tools.offer = (groups) => {
      fill(
        group,
        h("option", { value: "" }, "All groups"),
        groups.map((each) => h("option", { value: each.name }, each.label || each.name)),
      );
      group.value = this.asked.group;
    };
    return tools;
  }

  load(after, limit) {
    return get("/streams", { ...this.asked, after, limit: Math.min(1000, limit) }, this.scope.signal);
  }

  async find() {
    fill(this.wrong);
    await this.table.reset();
    const { total } = this.table;
    say(this.state, total === 1 ? "1 stream" : `${total.toLocaleString("en")} streams`);
    if (total === 0) {
      const isAll = !this.asked.match && !this.asked.group;
      fill(
        this.wrong,
        isAll
          ? empty("No streams yet", "As soon as somebody publishes, streams are listed here.")
          : empty("Nothing matches", "Try fewer letters, or another group."),
      );
    }
  }

  draw(stream, row) {
    let parts = row.parts;
    if (!parts) {
      const link = h("a", { href: to.stream(stream.stream) });
      const path = h("span", { class: "path" });
      const marks = h("span", { class: "marks" });
      parts = {
        link,
        path,
        marks,
        value: h("span", { class: "value number", role: "cell" }),
        line: spark(),
        count: h("span", { class: "number readings", role: "cell" }),
        last: h("span", { class: "last small", role: "cell" }),
      };
      row.append(
        h("span", { class: "what", role: "cell" }, link, h("span", { class: "under" }, marks, path)),
        parts.value,
        h("span", { class: "hour", role: "cell" }, parts.line),
        parts.count,
        parts.last,
      );
      row.parts = parts;
      say(link, stream.topic || format.tail(stream.stream, 3));
      link.title = stream.stream;
      say(path, stream.topic ? stream.stream : format.headOf(stream.stream, 3));
    }
    const mark = stream.stale ? "stale" : stream.virtual ? "virtual" : "";
    if (parts.mark !== mark) {
      parts.mark = mark;
      fill(
        parts.marks,
        mark === "stale"
          ? tag("stale", "warn", "warning")
          : mark === "virtual"
            ? tag(format.maker(stream), "accent")
            : null,
      );
    }
    say(parts.value, format.valueWithUnit(stream.value, stream.unit));
    say(parts.count, format.count(stream.count));
    say(parts.last, format.ago(stream.time));
    parts.line.show(this.sparks.get(stream.stream) ?? []);
  }

  /** Follow what is in sight, and have its last hour. */
  sight(streams, first) {
    const followed = streams.slice(0, MAX_FOLLOWED);
    this.indices = new Map(followed.map((each, index) => [each.stream, first + index]));
    this.wanted.change({ streams: [...this.indices.keys()], latest: true });
    const missing = followed.map((each) => each.stream).filter((each) => !this.sparks.has(each));
    if (missing.length) this.scope.run(() => this.ask(missing));
  }

  async ask(missing) {
    const now = format.nodeNow();
    const found = await histories(missing, now - HOUR_MS, now, SPARK_POINTS, this.scope.signal);
    for (const name of missing) {
      if (this.sparks.size >= MAX_SPARKS) this.sparks.delete(this.sparks.keys().next().value);
      this.sparks.set(
        name,
        (found.get(name) ?? []).map((each) => [each.time, each.mean]),
      );
      if (this.indices.has(name)) this.table.redraw(this.indices.get(name));
    }
  }

  take(readings) {
    const changed = new Set();
    for (const reading of readings) {
      const index = this.indices.get(reading.stream);
      const stream = index === undefined ? undefined : this.table.items[index];
      if (stream?.stream !== reading.stream) continue;
      const { value, unit, quality, time, number } = reading;
      if (number !== null && number > (stream.last ?? 0)) {
        stream.count += number - (stream.last ?? 0);
        stream.last = number;
      }
      Object.assign(stream, { value, unit, quality, time, stale: false });
      const point = pointOf(reading);
      const points = this.sparks.get(stream.stream);
      if (point && points) {
        points.push([point.time, point.mean]);
        if (points.length > 2 * SPARK_POINTS) points.shift();
      }
      changed.add(index);
    }
    for (const index of changed) this.table.redraw(index);
  }

  /** After a break: what is in sight anew, values and lines. */
  async catchUp() {
    const names = [...this.indices.keys()];
    await Promise.all(
      names.map(async (name) => {
        const fresh = await get(`/streams/${format.path(name)}`, {}, this.scope.signal);
        const index = this.indices.get(name);
        if (index === undefined || this.table.items[index]?.stream !== name) return;
        Object.assign(this.table.items[index], fresh);
        this.table.redraw(index);
      }),
    );
    await this.ask(names);
  }
}
