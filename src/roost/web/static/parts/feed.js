// What just came: the last reading of a few streams, as it comes.

import { get } from "../core/api.js";
import { fill, h, say } from "../core/dom.js";
import * as format from "../core/format.js";
import { to } from "../core/routes.js";

const FEED = 8; // streams whose readings are shown as they come

/** The last reading of the streams that spoke last; it follows them, and finds others now and then. */
export class Feed {
  constructor(scope) {
    this.scope = scope;
    this.rows = new Map();
    this.element = h("ol", { class: "feed" });
  }

  start() {
    this.wanted = this.scope.live({ streams: [] }, { readings: (list) => list.forEach((each) => this.take(each)) });
    this.scope.every(20_000, () => this.scope.run(() => this.choose()));
    this.scope.onBack(() => this.scope.run(() => this.choose()));
  }

  async choose() {
    const { items } = await get("/streams", { sort: "time", limit: FEED }, this.scope.signal);
    if (!items.length) fill(this.element, h("li", { class: "hint" }, "No readings yet."));
    else if (this.rows.size === 0) fill(this.element);
    const names = new Set(items.map((each) => each.stream));
    for (const [name, row] of this.rows) {
      if (names.has(name)) continue;
      row.element.remove();
      this.rows.delete(name);
    }
    for (const each of items) this.take(each);
    this.wanted.change({ streams: [...names], latest: true });
  }

  take(reading) {
    let row = this.rows.get(reading.stream);
    if (!row) {
      if (this.rows.size >= FEED) return;
      const value = h("span", { class: "value" });
      const name = reading.topic || reading.stream; // its end tells which it is
      const element = h(
        "li",
        {},
        h(
          "a",
          { href: to.stream(reading.stream) },
          h("span", { class: "one-line", title: name }, format.tail(name, reading.virtual ? 3 : 2)),
          value,
        ),
      );
      row = { element, value };
      this.rows.set(reading.stream, row);
      this.element.append(element);
    }
    say(row.value, format.valueWithUnit(reading.value, reading.unit));
  }
}
