// What every view begins with, and small pieces that many have: heads, cards, figures, choices, marks of health.

import { h } from "../core/dom.js";
import { icon } from "./icons.js";

/** The head of a view; `trail` are [label, address] of what stands above. */
export function head(title, text = "", { trail = [], actions = [] } = {}) {
  return h(
    "header",
    { class: "head" },
    h(
      "div",
      {},
      trail.length
        ? h(
            "p",
            { class: "trail" },
            trail.map(([label, address], index) => [
              index ? h("span", { "aria-hidden": "true" }, "›") : null,
              h("a", { href: address }, label),
            ]),
          )
        : null,
      h("h1", { tabindex: "-1" }, title),
      text ? h("p", {}, text) : null,
    ),
    h("div", { class: "buttons" }, ...actions),
  );
}

export function card(title, content, { text = "", actions = [], flush = false, props = {} } = {}) {
  const { class: more = "", ...rest } = props;
  return h(
    "section",
    { class: `card${flush ? " flush" : ""} ${more}`.trim(), ...rest },
    title
      ? h("header", {}, h("h2", {}, title), h("span", { class: "grow" }), ...actions, text ? h("p", {}, text) : null)
      : null,
    content,
  );
}

/** A list of figures: [label, value, unit or element]. */
export function figures(list) {
  return h(
    "dl",
    { class: "figures" },
    list.map(([label, value, more]) => figure(label, value, more)),
  );
}

export function figure(label, value, more = null) {
  return h(
    "div",
    { class: "figure" },
    h("dt", {}, label),
    h(
      "dd",
      {},
      h("span", { class: "big" }, value, typeof more === "string" ? h("small", {}, ` ${more}`) : null),
      more instanceof Element ? more : null,
    ),
  );
}

/** Facts: [term, text or element]; those without a text are left out. */
export function facts(list) {
  return h(
    "dl",
    { class: "facts" },
    list
      .filter(([, text]) => text !== null && text !== undefined && text !== "")
      .map(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]),
  );
}

/** One of a few: choices("Range", [["1h", "1 h"]], "1h", chosen => …). */
export function choices(label, options, chosen, onChoose) {
  const group = h("div", { class: "choices", role: "group", "aria-label": label });
  for (const [key, text] of options) {
    const choose = () => {
      group.mark(key);
      onChoose(key);
    };
    group.append(
      h(
        "button",
        { type: "button", "aria-pressed": String(key === chosen), data: { key }, on: { click: choose } },
        text,
      ),
    );
  }
  group.mark = (key) => {
    for (const each of group.children) each.setAttribute("aria-pressed", String(each.dataset.key === key));
  };
  return group;
}

const HEALTH = {
  ok: ["good", "check", "in step"],
  lagging: ["warn", "warning", "lagging"],
  silent: ["bad", "cross", "silent"],
  unknown: ["", "question", "not known"],
};

/** How somebody is: in colour, sign and word. */
export function health(state) {
  const [kind, sign, word] = HEALTH[state] ?? HEALTH.unknown;
  return tag(word, kind, sign);
}

export function tag(text, kind = "", sign = null) {
  return h("span", { class: `tag ${kind}` }, sign ? icon(sign, 13) : null, text);
}

/** A table: columns are [label, cell of a row, class]. */
export function table(columns, rows, { caption = "", label = "", hidden = false } = {}) {
  return h(
    "div",
    { class: "scroller", tabindex: "0", role: "region", "aria-label": caption || label || "Table" },
    h(
      "table",
      {},
      caption ? h("caption", hidden ? { class: "unseen" } : {}, caption) : null,
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map(([label_, , kind = ""]) => h("th", { scope: "col", class: kind }, label_)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((row) =>
          h(
            "tr",
            {},
            columns.map(([, cell, kind = ""]) => h("td", { class: kind }, cell(row))),
          ),
        ),
      ),
    ),
  );
}

/** A link that looks like a button. */
export function linkButton(label, address, { sign = null, first = false } = {}) {
  return h("a", { class: `button${first ? " first" : ""}`, href: address }, sign ? icon(sign, 18) : null, label);
}

export function button(label, onClick, { sign = null, kind = "", ...props } = {}) {
  return h(
    "button",
    { class: `button ${kind}`.trim(), type: "button", on: { click: onClick }, ...props },
    sign ? icon(sign, 18) : null,
    label,
  );
}

/** A labelled input. */
export function field(label, input, hint = "") {
  return h(
    "div",
    { class: "field" },
    h("label", { for: input.id }, label),
    input,
    hint ? h("span", { class: "hint" }, hint) : null,
  );
}
