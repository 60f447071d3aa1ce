// A chart of one stream that is painted by us: what it shows, and how one moves in it. How it looks is in paint.js.
//
//   drag          zoom into what is marked       wheel, + and −   zoom about the pointer, or the middle
//   shift-drag    move                           ← →              move by a quarter
//   Home, End     the beginning; now             Esc, 0           back to the range
//
// On a touch screen one finger moves and two zoom. Everything it shows is in the table beside it as well.

import { fresh, h, say } from "../core/dom.js";
import * as format from "../core/format.js";
import { onTheme } from "../core/theme.js";
import { paint, PLOT } from "./paint.js";

const MIN_SPAN = 2000;
const MAX_SPAN = 400 * 86_400_000;
const SETTLE_MS = 120;
const MAX_POINTS = 12_000;

export class Chart {
  /** load(from, to, points, signal) → points; onPick(point) is told which one was chosen.
   *  onTrouble(error) hears why there are none, and null when there are again. */
  constructor({ label, unit, range, load, onPick, onView, onTrouble, scope }) {
    Object.assign(this, { label, unit, range, load, onPick, onView, onTrouble, scope });
    this.points = [];
    this.span = range;
    this.to = null; // null: as it is now
    this.pointer = null;
    this.marked = null;
    this.fingers = new Map();
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.tip = h("div", { class: "chart-tip", hidden: true });
    this.said = h("p", { class: "unseen", "aria-live": "polite" });
    const help = fresh("chart-help");
    this.field = h(
      "div",
      {
        class: "chart-field",
        tabindex: "0",
        role: "application",
        "aria-roledescription": "chart",
        "aria-label": label,
        "aria-describedby": help,
      },
      this.canvas,
    );
    this.element = h(
      "div",
      { class: "chart" },
      this.field,
      this.tip,
      this.said,
      h(
        "p",
        { class: "unseen", id: help },
        "Left and right move, plus and minus zoom, Home goes back in time, End to now, Escape to the chosen range. The table has the same data.",
      ),
    );
    this.observe();
  }

  observe() {
    const observer = new ResizeObserver(() => this.later());
    observer.observe(this.canvas);
    this.scope.onEnd(() => observer.disconnect());
    this.scope.onEnd(onTheme(() => this.later()));
    this.scope.onEnd(() => this.asking?.abort());
    this.scope.onEnd(() => clearTimeout(this.settling));
    const { canvas, field } = this;
    this.scope.listen(canvas, "pointerdown", (event) => this.press(event));
    this.scope.listen(canvas, "pointermove", (event) => this.move(event));
    this.scope.listen(canvas, "pointerup", (event) => this.release(event));
    this.scope.listen(canvas, "pointercancel", (event) => this.drop(event));
    this.scope.listen(canvas, "pointerleave", () => this.point(null));
    this.scope.listen(canvas, "dblclick", () => this.home());
    this.scope.listen(canvas, "wheel", (event) => this.wheel(event), { passive: false });
    this.scope.listen(field, "keydown", (event) => this.key(event));
  }

  get end() {
    return this.to ?? format.nodeNow();
  }

  get start() {
    return this.end - this.span;
  }

  get follows() {
    return this.to === null;
  }

  /** Show a range that ends now. */
  setRange(range) {
    this.range = range;
    this.home();
  }

  home() {
    this.to = null;
    this.span = this.range;
    this.changed();
  }

  /** Look at a time span; one that reaches the present follows it. */
  look(from, to) {
    const now = format.nodeNow();
    this.span = Math.max(MIN_SPAN, Math.min(MAX_SPAN, to - from));
    const middle = (from + to) / 2;
    const end = to - from < MIN_SPAN ? middle + this.span / 2 : to;
    this.to = end >= now - this.span * 0.002 ? null : end;
    this.changed();
  }

  zoom(factor, about = (this.start + this.end) / 2) {
    const span = Math.max(MIN_SPAN, Math.min(MAX_SPAN, this.span * factor));
    const share = (about - this.start) / this.span;
    const from = about - span * share;
    this.look(from, from + span);
  }

  pan(share) {
    const by = this.span * share;
    this.look(this.start + by, Math.min(format.nodeNow(), this.end + by));
  }

  /** Have new readings: they stand at the end, if that is in sight. */
  add(points) {
    const last = this.points.at(-1)?.time ?? 0;
    for (const each of points) if (each.time > last) this.points.push(each);
    if (this.points.length > MAX_POINTS) this.points.splice(0, this.points.length - MAX_POINTS);
    if (this.follows) {
      this.later();
      this.onView?.(this);
    }
  }

  changed() {
    this.later();
    this.onView?.(this);
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.scope.run(() => this.ask(), this.onTrouble), SETTLE_MS);
  }

  /** Ask for what is in sight. */
  async ask() {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const width = Math.max(60, Math.round(this.canvas.clientWidth || 600));
    const [from, to] = [this.start, this.end];
    const points = await this.load(from, to, Math.min(1500, Math.round(width * 0.75)), asking.signal);
    if (asking.signal.aborted || this.scope.ended) return;
    this.onTrouble?.(null);
    const newer = this.follows ? this.points.filter((each) => each.time > to) : [];
    this.points = [...points, ...newer];
    this.later();
    this.onView?.(this);
    this.tell();
  }

  /** The points in sight. */
  inSight() {
    return this.points.filter((each) => each.time >= this.start && each.time <= this.end);
  }

  summary() {
    const points = this.inSight();
    if (!points.length) return null;
    let [low, high, sum, readings] = [Infinity, -Infinity, 0, 0];
    for (const each of points) {
      low = Math.min(low, each.low);
      high = Math.max(high, each.high);
      sum += each.mean * each.count;
      readings += each.count;
    }
    return { low, high, mean: sum / readings, readings };
  }

  tell() {
    if (document.activeElement !== this.field) return;
    const found = this.summary();
    const span = `${format.when(this.start)} to ${this.follows ? "now" : format.when(this.end)}`;
    const shown = (value) => format.valueWithUnit(value, this.unit);
    say(
      this.said,
      found
        ? `${span}: ${found.readings} readings, from ${shown(found.low)} to ${shown(found.high)}, mean ${shown(found.mean)}`
        : `${span}: no readings`,
    );
  }

  later() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (!this.scope.ended) paint(this);
    });
  }

  // -- hands

  timeAt(x) {
    const width = this.canvas.clientWidth - PLOT.left - PLOT.right;
    return this.start + ((x - PLOT.left) / width) * this.span;
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  press(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    const at = this.place(event);
    this.fingers.set(event.pointerId, at);
    this.pressed = { ...at, moves: event.pointerType !== "mouse" || event.shiftKey, far: false };
  }

  move(event) {
    const at = this.place(event);
    const before = this.fingers.get(event.pointerId);
    if (!before || !this.pressed) {
      this.point(at.x);
      return;
    }
    this.pressed.far ||= Math.abs(at.x - this.pressed.x) > 4;
    const width = this.canvas.clientWidth - PLOT.left - PLOT.right;
    if (this.fingers.size === 2) {
      const [a, b] = [...this.fingers.entries()].map(([id, place]) => (id === event.pointerId ? at : place));
      const [c, d] = [...this.fingers.values()];
      const wide = Math.max(20, Math.abs(a.x - b.x));
      this.zoom(Math.max(20, Math.abs(c.x - d.x)) / wide, this.timeAt((a.x + b.x) / 2));
    } else if (this.pressed.moves) {
      this.pan((before.x - at.x) / width);
    } else if (this.pressed.far) {
      this.marked = [this.pressed.x, at.x].sort((a, b) => a - b);
      this.later();
    }
    this.fingers.set(event.pointerId, at);
  }

  release(event) {
    const { marked, pressed } = this;
    this.drop(event);
    if (!pressed) return;
    if (marked && marked[1] - marked[0] > 6)
      this.look(this.timeAt(marked[0]), Math.min(this.timeAt(marked[1]), this.end));
    else if (!pressed.far) {
      const near = this.near(pressed.x);
      if (near) this.onPick?.(near);
    }
  }

  drop(event) {
    this.fingers.delete(event.pointerId);
    this.marked = null;
    if (!this.fingers.size) this.pressed = null;
    this.later();
  }

  wheel(event) {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX / 800);
    else this.zoom(Math.exp(Math.max(-200, Math.min(200, event.deltaY)) / 400), this.timeAt(this.place(event).x));
  }

  key(event) {
    const acts = {
      ArrowLeft: () => this.pan(-0.25),
      ArrowRight: () => this.pan(0.25),
      "+": () => this.zoom(0.5),
      "=": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      Home: () => this.pan(-1),
      End: () => this.look(format.nodeNow() - this.span, format.nodeNow()),
      Escape: () => this.home(),
      0: () => this.home(),
    };
    const act = event.ctrlKey || event.metaKey || event.altKey ? null : acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  near(x) {
    const time = this.timeAt(x);
    let best = null;
    for (const each of this.inSight())
      if (!best || Math.abs(each.time - time) < Math.abs(best.time - time)) best = each;
    return best;
  }

  point(x) {
    this.pointer = x;
    this.later();
  }
}
