// One stream: its value now, its past as a chart and as a table, and what it is.

import { get, tables } from "../core/api.js";
import { fill, h, say } from "../core/dom.js";
import * as format from "../core/format.js";
import { to } from "../core/routes.js";
import { Chart } from "../parts/chart.js";
import { button, card, choices, facts, figure, head, linkButton, table, tag } from "../parts/frame.js";
import { history, pointOf } from "../parts/history.js";
import { empty, notice, trouble } from "../parts/notice.js";

const RANGES = { "5m": 300_000, "1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000 };
const YOUNG_MS = 600_000; // a stream of so short a past would be a line at the edge of an hour
const ROWS = 20;
const MAX_ROWS = 200;
const CUT =
  "There is more in this span than one file takes, and the file ends early: choose a shorter span, or ask GET /history.";
const GOOD = new Set(["good", "", null, undefined]);

export async function show({ scope, name, parameters }) {
  const stream = `/${name.replace(/^\//, "")}`;
  const about = await get(`/streams/${format.path(stream)}`, {}, scope.signal);
  const isYoung = about.interval_ms && about.count * about.interval_ms < YOUNG_MS;
  const range = parameters.get("range") in RANGES ? parameters.get("range") : isYoung ? "5m" : "1h";
  const view = new Detail(scope, about, range);
  await view.start();
  return view.element;
}

class Detail {
  constructor(scope, about, range) {
    this.scope = scope;
    this.about = about;
    this.isNumber = ["number", "boolean"].includes(typeof format.measured(about.value));
    this.limit = ROWS;
    this.wrong = h("div", { class: "wrong-place" });
    this.span = h("p", { class: "chart-foot" });
    this.rows = h("div", {});
    this.value = h("span", {});
    this.time = h("span", {});
    this.count = h("span", {});
    this.quality = h("span", {});
    this.details = h("span", { class: "soft small" });
    this.chart = new Chart({
      label: `${format.tail(about.stream, 3)} over time`,
      unit: about.unit,
      range: RANGES[range],
      load: (from, to_, points, signal) => history(about.stream, from, to_, points, signal),
      onPick: (point) => this.pick(point),
      onView: () => this.look(),
      onTrouble: (error) => (error ? fill(this.wrong, trouble(error)) : fill(this.wrong)),
      scope,
    });
    this.ranges = choices(
      "Range",
      Object.keys(RANGES).map((each) => [each, each]),
      range,
      (key) => {
        window.history.replaceState(null, "", `${to.stream(about.stream)}?range=${key}`);
        this.chart.setRange(RANGES[key]);
      },
    );
    this.now = button("Now", () => this.chart.home(), { kind: "slim", sign: "play" });
    this.download = button("CSV", () => this.save(), {
      kind: "slim quiet",
      sign: "download",
      "aria-label": "CSV of the readings in this span",
    });
    this.element = this.made();
    this.tell();
  }

  made() {
    const { about } = this;
    const parts = [
      ["Streams", "#/streams"],
      ...(about.group ? [[format.tail(about.group, 1), to.streams({ group: about.group })]] : []),
    ];
    const zoom = (sign, label, factor) =>
      h(
        "button",
        { class: "button slim", type: "button", "aria-label": label, on: { click: () => this.chart.zoom(factor) } },
        sign,
      );
    return h(
      "div",
      { class: "detail" },
      head(about.topic || format.tail(about.stream, 3), about.stream, {
        trail: parts,
        actions: about.last
          ? [linkButton("Passport of the last reading", to.passport(about.stream, about.last), { sign: "seal" })]
          : [],
      }),
      this.wrong,
      h(
        "dl",
        { class: "figures" },
        figure("Now", this.value, h("span", {}, this.quality, " ", this.details)),
        figure("Measured", this.time),
        figure("Readings", this.count),
      ),
      card(
        "History",
        [
          h(
            "div",
            { class: "buttons chart-tools" },
            this.ranges,
            zoom("+", "Zoom in", 0.5),
            zoom("−", "Zoom out", 2),
            this.now,
            h("span", { class: "grow" }),
            this.download,
          ),
          this.isNumber ? this.chart.element : notNumbers(),
          this.span,
        ],
        {
          text: [
            h(
              "span",
              { class: "for-mouse" },
              "Drag to zoom, shift-drag to move, wheel to zoom about the pointer. With the keyboard: arrows, + and −, Home, End, Escape.",
            ),
            h("span", { class: "for-touch" }, "One finger moves, two zoom. Tap a reading for its passport."),
          ],
        },
      ),
      h(
        "div",
        { class: "columns" },
        card("Readings", this.rows, {
          flush: true,
          text: "The newest of the span above. Each has a passport: who signed it, what it was made of, who keeps it.",
          props: { class: "two-thirds" },
        }),
        card("About", this.facts(), { props: { class: "third" } }),
      ),
    );
  }

  async start() {
    const { scope } = this;
    scope.onEnd(() => clearTimeout(this.listing));
    scope.live({ streams: [this.about.stream] }, { readings: (list) => this.take(list) });
    scope.onBack(() => scope.run(() => this.refresh()));
    scope.every(1000, async () => {
      say(this.time, format.ago(this.about.time));
      if (this.chart.follows) this.chart.later();
    });
    await scope.run(
      () => this.refresh(),
      (error) => fill(this.wrong, trouble(error)),
    );
  }

  /** Ask again for what is in sight: at the start, and after a break of the line. */
  async refresh() {
    await this.chart.ask();
    await this.list();
  }

  take(readings) {
    const last = readings.at(-1);
    const { value, unit, quality, time } = last;
    Object.assign(this.about, { value, unit, quality, time, stale: false });
    for (const { number } of readings) {
      if (number === null || number <= (this.about.last ?? 0)) continue;
      this.about.count += number - (this.about.last ?? 0);
      this.about.last = number;
    }
    this.chart.add(readings.map(pointOf).filter(Boolean));
    this.tell();
    if (this.chart.follows) this.soon();
  }

  tell() {
    const { about } = this;
    say(this.value, format.valueWithUnit(about.value, about.unit));
    say(this.details, format.details(about.value));
    say(this.time, format.ago(about.time));
    say(this.count, format.count(about.count));
    fill(
      this.quality,
      about.stale
        ? tag("stale", "warn", "warning")
        : GOOD.has(about.quality)
          ? tag("good", "good", "check")
          : tag(String(about.quality), "warn", "warning"),
    );
  }

  look() {
    const { chart } = this;
    const found = chart.summary();
    const shown = (value) => format.valueWithUnit(value, chart.unit);
    const parts = [`${format.when(chart.start)} – ${chart.follows ? "now" : format.when(chart.end)}`];
    if (found)
      parts.push(
        `${format.count(found.readings)} readings`,
        `lowest ${shown(found.low)}`,
        `mean ${shown(found.mean)}`,
        `highest ${shown(found.high)}`,
      );
    say(this.span, parts.join(" · "));
    this.now.disabled = chart.follows && chart.span === chart.range;
    if (!chart.follows || this.seen !== chart.span) this.soon();
    this.seen = chart.span;
  }

  soon() {
    this.listing ??= setTimeout(() => {
      this.listing = null;
      this.scope.run(() => this.list());
    }, 700);
  }

  async list() {
    const { chart, about } = this;
    const until = chart.follows ? undefined : format.ns(chart.end);
    const { items: rows } = await get(
      "/history",
      { stream: about.stream, since: format.ns(chart.start), until, limit: this.limit, order: "newest" },
      this.scope.signal,
    );
    if (this.rows.contains(document.activeElement)) return; // nobody has a row pulled away from under the focus
    fill(
      this.rows,
      rows.length
        ? [readings(about, rows), rows.length === this.limit && this.limit < MAX_ROWS ? this.more() : null]
        : empty("No readings in this span", "Choose a longer range, or go back to now."),
    );
  }

  /** Have the readings in sight as a file. */
  save() {
    const { stream } = this.about;
    return this.scope.run(
      async () => {
        const { pages, isCut } = await tables(
          "/history",
          { stream, since: format.ns(this.chart.start), until: format.ns(this.chart.end) },
          "text/csv",
          this.scope.signal,
        );
        const table = pages.map((page, at) => (at ? page.slice(page.indexOf("\n") + 1) : page)); // one head is enough
        if (isCut) fill(this.wrong, notice("warning", CUT));
        const link = h("a", {
          href: URL.createObjectURL(new Blob(table, { type: "text/csv" })),
          download: `${format.tail(stream, 2).replace(/[^\w-]+/g, "-")}.csv`,
        });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      },
      (error) => fill(this.wrong, trouble(error)),
    );
  }

  more() {
    const ask = () => {
      this.limit = MAX_ROWS;
      this.scope.run(() => this.list());
    };
    return h("div", { class: "after-table" }, button("Show more", ask, { kind: "slim quiet" }));
  }

  pick(point) {
    if (point.number) location.hash = to.passport(this.about.stream, point.number);
    else this.chart.zoom(0.25, point.time);
  }

  facts() {
    const { about } = this;
    return facts([
      ["Name", h("span", { class: "mono small" }, about.stream)],
      ["Topic", about.topic],
      ["Group", about.group ? h("a", { href: to.streams({ group: about.group }) }, about.group) : ""],
      ["Panel", about.panel],
      [
        "Unit",
        about.unit
          ? `${about.unit}${format.unit(about.unit).replace(/\s/g, "") === about.unit ? "" : ` (${format.unit(about.unit)})`}`
          : "",
      ],
      ["Numbers", about.last ? `${about.first} to ${about.last}` : ""],
      ["Comes every", about.interval_ms ? format.span(about.interval_ms) : ""],
      ["Made by", format.maker(about).replace("made by ", "")],
      ["Sealed", about.sealed ? tag("sealed", "accent", "lock") : "no"],
      ["Class", about.description?.class ?? ""],
      ["Label", about.description?.label ?? ""],
    ]);
  }
}

function readings(about, rows) {
  const hasDetails = rows.some((row) => format.details(row.value));
  return table(
    [
      ["Number", (row) => h("a", { href: to.passport(about.stream, row.number) }, String(row.number))],
      ["Time", (row) => format.moment(format.ms(row.time)), "whole"],
      ["Value", (row) => format.valueWithUnit(row.value, row.unit), "number"],
      ...(hasDetails ? [["Details", (row) => format.details(row.value)]] : []),
      ["Quality", (row) => (GOOD.has(row.quality) ? "good" : tag(String(row.quality), "warn"))],
    ],
    rows,
    { label: "Readings" },
  );
}

function notNumbers() {
  return empty("Nothing to draw", "The values of this stream are no numbers. The readings are listed below.");
}
