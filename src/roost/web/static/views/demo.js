// Break something: what can be broken in the demo, what was promised, whether it is kept, and what has happened.

import { get, send } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import * as format from "../core/format.js";
import { button, card, head, linkButton, tag } from "../parts/frame.js";
import { icon } from "../parts/icons.js";
import { toast, trouble } from "../parts/notice.js";

const POLL_MS = 1000;
const STATES = { ready: ["whole", ""], active: ["broken", "bad"], mending: ["mending", "warn"] };

export async function show({ scope }) {
  const view = new Panel(scope);
  await view.ask();
  scope.every(POLL_MS, () => scope.run(() => view.ask()));
  return view.element;
}

class Panel {
  constructor(scope) {
    this.scope = scope;
    this.breaks = h("div", { class: "breaks" });
    this.promises = h("ul", { class: "promises" });
    this.kept = h("p", { class: "hint", role: "status" });
    this.steps = h("ol", { class: "timeline" });
    this.wrong = h("div", { class: "wrong-place" });
    this.keys = new Map();
    this.element = h(
      "div",
      {},
      head(
        "Break something",
        "This campus is a demo: nothing here can do harm. Break a part of it, watch the promises, then look at the map.",
        { actions: [linkButton("Campus", "#/", { sign: "campus" })] },
      ),
      this.wrong,
      this.breaks,
      h(
        "div",
        { class: "columns below" },
        card("What is promised", [this.kept, this.promises], {
          text: "Checked all the time, also while something is broken.",
          props: { class: "half" },
        }),
        card("What has happened", this.steps, { props: { class: "half" } }),
      ),
    );
  }

  async ask() {
    this.show(await get("/demo", {}, this.scope.signal));
  }

  show({ breaks = [], promises = [], steps = [] }) {
    this.once("breaks", breaks, () =>
      fill(
        this.breaks,
        breaks.map((each) => this.one(each)),
      ),
    );
    this.once("promises", promises, () => {
      const kept = promises.filter((each) => each.kept).length;
      fill(
        this.kept,
        kept === promises.length
          ? tag(`all ${kept} are kept`, "good", "check")
          : tag(`${promises.length - kept} of ${promises.length} not kept`, "bad", "cross"),
      );
      fill(this.promises, promises.map(promise));
    });
    this.once("steps", steps, () =>
      fill(this.steps, steps.length ? shownOf(steps).map(step) : h("li", { class: "hint" }, "Nothing yet.")),
    );
  }

  /** Draw only what changed: the focus and the eye are left in peace. */
  once(part, told, draw) {
    const key = JSON.stringify(told);
    if (this.keys.get(part) === key) return;
    this.keys.set(part, key);
    const focused = document.activeElement?.dataset?.break;
    draw();
    if (focused) [...this.breaks.querySelectorAll("button")].find((each) => each.dataset.break === focused)?.focus();
  }

  one(each) {
    const [word, kind] = STATES[each.state] ?? STATES.ready;
    const isBroken = each.state === "active";
    const label = isBroken ? "Mend it" : each.state === "mending" ? "Mending…" : "Break it";
    const act = button(label, () => this.act(each.id, isBroken ? "mend" : "break", each.title), {
      kind: isBroken ? "first" : "danger",
      sign: isBroken ? "check" : "demo",
      disabled: each.state === "mending",
      "aria-label": `${label}: ${each.title}`,
      data: { break: each.id },
    });
    return card(
      each.title,
      [
        h("p", {}, each.text),
        each.does ? h("p", { class: "small soft" }, each.does) : null,
        h("div", { class: "buttons" }, act),
      ],
      { actions: [tag(word, kind, each.state === "ready" ? null : "warning")] },
    );
  }

  act(id, does, title) {
    return this.scope.run(
      async () => {
        await send("POST", `/demo/breaks/${encodeURIComponent(id)}`, { do: does }, this.scope.signal);
        toast(does === "break" ? `${title}: done. Watch the promises.` : `${title}: being mended.`);
        fill(this.wrong);
        await this.ask();
      },
      (error) => fill(this.wrong, trouble(error)),
    );
  }
}

function promise({ text, kept, detail }) {
  return h(
    "li",
    { class: kept ? "good" : "bad" },
    icon(kept ? "check" : "cross", 22),
    h(
      "div",
      {},
      h("strong", {}, text),
      h("span", { class: "unseen" }, kept ? " Kept." : " Not kept."),
      detail ? h("span", { class: "soft small" }, detail) : null,
    ),
  );
}

/** The newest first; of reports how it goes only the last one, for they would hide what happens. */
function shownOf(steps) {
  const newest = [...steps].reverse();
  const report = newest.find((each) => each.what === "status");
  return newest.filter((each) => each.what !== "status" || each === report);
}

function step({ time, text }) {
  return h("li", {}, h("time", { class: "soft small" }, format.clock(format.ms(time))), h("span", {}, text));
}
