// The guide for who is new here.

import { get } from "../core/api.js";
import { h } from "../core/dom.js";
import { keep, kept } from "../core/keep.js";
import { has, node } from "../core/node.js";
import { to } from "../core/routes.js";
import { button, card, linkButton } from "./frame.js";

/** What one looks at and what to try: the demo's own guide where it runs, otherwise a general one. */
export async function guideOf(scope) {
  if (kept("guide") === "closed")
    return h(
      "div",
      { class: "guide-again" },
      button("What am I looking at?", () => (keep("guide", null), location.reload()), {
        sign: "question",
        kind: "slim quiet",
      }),
    );
  const told = has("demo") ? await scope.run(() => get("/demo", {}, scope.signal)) : null;
  const sentences = told?.guide?.length ? told.guide : general();
  const element = card(
    told?.title || "What you are looking at",
    [
      h(
        "ol",
        { class: "guide" },
        sentences.map((each) => h("li", {}, each)),
      ),
      h(
        "div",
        { class: "buttons" },
        has("demo") ? linkButton("Break something", "#/demo", { sign: "demo", first: true }) : null,
        linkButton("Look at streams", "#/streams", { sign: "streams" }),
        has("macros") ? linkButton("Write a macro", to.newMacro(), { sign: "macros" }) : null,
      ),
    ],
    {
      actions: [button("Close the guide", () => (keep("guide", "closed"), element.remove()), { kind: "slim quiet" })],
      props: { class: "welcome" },
    },
  );
  return element;
}

function general() {
  const name = node.info?.name ?? "this node";
  return [
    `This is ${name}. Sensors publish readings; each one is a named, signed packet in a group, kept by repos.`,
    "Choose a stream and look at its past: zoom with the mouse or with + and −. Choose one of its readings to see who signed it.",
    "Write a macro: a line of JavaScript that makes a new stream of others. Try it on history before anybody sees it.",
  ];
}
