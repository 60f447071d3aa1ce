// A table of any length of which only the rows in sight exist: rows of one height, pages asked for as they come near.
//
// It has the roles of a table, and says how long it is and which row is which. The arrow keys go from row to row.

import { fill, h } from "../core/dom.js";

const BEYOND = 6; // rows that exist above and below what is in sight
const PAGE = 500;
const MAX_ROWS = 20_000;

/**
 * columns: [label, class]; load(after, limit) → {items, next, total}; draw(item, row) puts cells into a row.
 * onSight(items) is told which rows are in sight, once scrolling rests.
 */
export class WindowTable {
  constructor({ label, columns, rowHeight, load, draw, onSight }) {
    this.rowHeight = rowHeight;
    this.load = load;
    this.draw = draw;
    this.onSight = onSight;
    this.items = [];
    this.total = 0;
    this.next = undefined;
    this.rows = new Map(); // by index; those that exist
    this.loading = null;
    this.generation = 0;
    this.space = h("div", { class: "window-space", role: "presentation" });
    this.scroller = h("div", { class: "window", role: "rowgroup" }, this.space);
    const heads = columns.map(([text, kind]) => h("span", { class: kind, role: "columnheader" }, text));
    const header = h("div", { class: "window-head", role: "row", "aria-rowindex": "1" }, heads);
    this.element = h(
      "div",
      { role: "table", "aria-label": label, "aria-rowcount": "-1" },
      h("div", { role: "rowgroup" }, header),
      this.scroller,
    );
    this.scroller.addEventListener("scroll", () => this.later(), { passive: true });
    this.scroller.addEventListener("keydown", (event) => this.press(event));
    this.observer = new ResizeObserver(() => this.later());
    this.observer.observe(this.scroller);
  }

  /** Begin anew, from the first page; rejects if that cannot be had. */
  async reset() {
    this.generation += 1;
    const mine = this.generation;
    const page = await this.load(undefined, Math.ceil(this.height() / this.rowHeight) + 4 * BEYOND);
    if (mine !== this.generation) return;
    this.items = [];
    this.clear();
    this.loading = null;
    this.scroller.scrollTop = 0;
    this.take(page);
    this.paint();
  }

  /** Draw a row again, if it exists. */
  redraw(index) {
    const row = this.rows.get(index);
    if (row) this.draw(this.items[index], row);
  }

  end() {
    this.generation += 1;
    this.observer.disconnect();
    clearTimeout(this.resting);
  }

  height() {
    return this.scroller.clientHeight || 600;
  }

  setRowHeight(height) {
    if (height === this.rowHeight) return;
    this.rowHeight = height;
    this.clear();
    this.measure();
    this.later();
  }

  clear() {
    this.rows.clear();
    fill(this.space);
  }

  take(page) {
    this.items.push(...page.items);
    this.next = page.next ?? undefined;
    this.total = Math.max(page.total ?? 0, this.items.length);
    if (this.next === undefined || this.items.length >= MAX_ROWS) this.total = this.items.length;
    this.measure();
  }

  measure() {
    this.element.setAttribute("aria-rowcount", String(this.total + 1));
    this.space.style.height = `${this.total * this.rowHeight}px`;
  }

  later() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.paint();
    });
  }

  range() {
    const first = Math.floor(this.scroller.scrollTop / this.rowHeight);
    const last = Math.ceil((this.scroller.scrollTop + this.height()) / this.rowHeight);
    return [Math.max(0, first - BEYOND), Math.min(this.total, last + BEYOND), first, last];
  }

  paint() {
    const [from, to, first, last] = this.range();
    for (const [index, row] of this.rows) {
      if (index < from || index >= to) {
        if (row.contains(document.activeElement)) continue; // the focus is not taken away
        row.remove();
        this.rows.delete(index);
      }
    }
    for (let index = from; index < Math.min(to, this.items.length); index += 1) {
      if (!this.rows.has(index)) this.make(index);
    }
    if (to > this.items.length && this.next !== undefined) this.more(to);
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.onSight(this.items.slice(Math.max(0, first), last), Math.max(0, first)), 120);
  }

  make(index) {
    const row = h("div", { class: "window-row", role: "row", "aria-rowindex": String(index + 2) });
    row.style.top = `${index * this.rowHeight}px`;
    row.style.height = `${this.rowHeight}px`;
    this.draw(this.items[index], row);
    const after = [...this.rows.keys()].filter((each) => each > index).sort((a, b) => a - b)[0];
    this.space.insertBefore(row, after === undefined ? null : this.rows.get(after)); // read in their order
    this.rows.set(index, row);
  }

  /** Ask for pages until a row is there; one asks at a time. */
  async more(until) {
    this.wanted = until;
    if (this.loading) return;
    const mine = this.generation;
    this.loading = (async () => {
      while (
        mine === this.generation &&
        this.items.length < this.wanted &&
        this.next !== undefined &&
        this.items.length < MAX_ROWS
      ) {
        const page = await this.load(this.next, PAGE);
        if (mine === this.generation) this.take(page);
      }
    })();
    try {
      await this.loading;
    } catch {
      // The next time that somebody scrolls it is tried again.
    } finally {
      if (mine === this.generation) this.loading = null;
    }
    if (mine === this.generation) this.later();
  }

  press(event) {
    const steps = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: Math.floor(this.height() / this.rowHeight),
      PageUp: -Math.floor(this.height() / this.rowHeight),
    };
    const now = [...this.rows].find(([, row]) => row.contains(document.activeElement))?.[0];
    if (now === undefined) return;
    let next = now + (steps[event.key] ?? 0);
    if (event.key === "Home") next = 0;
    else if (event.key === "End") next = this.items.length - 1;
    else if (!(event.key in steps)) return;
    event.preventDefault();
    this.focus(Math.max(0, Math.min(this.items.length - 1, next)));
  }

  focus(index) {
    const top = index * this.rowHeight;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + this.rowHeight > this.scroller.scrollTop + this.height())
      this.scroller.scrollTop = top + this.rowHeight - this.height();
    this.paint();
    const row = this.rows.get(index);
    row?.querySelector("a")?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" }); // the table may be in sight only in part
    this.paint();
  }
}
