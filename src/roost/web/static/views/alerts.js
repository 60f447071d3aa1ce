// Alerts: what somebody should look at, since when, and what to do about it.

import { get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import * as format from "../core/format.js";
import { card, head, tag } from "../parts/frame.js";
import { icon } from "../parts/icons.js";
import { empty } from "../parts/notice.js";

const POLL_MS = 10_000;
const SEVERITY = { critical: ["bad", "warning"], warning: ["warn", "warning"] };

export async function show({ scope }) {
  const place = h("div", { class: "stack" });
  const draw = (items) => {
    if (place.contains(document.activeElement)) return;
    fill(
      place,
      items.length
        ? sorted(items).map(alert)
        : card(
            null,
            empty(
              "All is well",
              "Streams speak in time, macros run, repos are in step. What is not is told here, and counted in the navigation.",
            ),
            { props: { class: "calm" } },
          ),
    );
  };
  const round = async () => draw((await get("/alerts", {}, scope.signal)).items);
  await round();
  scope.every(POLL_MS, () => scope.run(round));
  scope.listen(window, "roost:alerts", (event) => draw(event.detail));
  return h(
    "div",
    {},
    head("Alerts", "They come and go by themselves: an alert is here for as long as its cause."),
    place,
  );
}

function sorted(items) {
  return [...items].sort(
    (a, b) =>
      (a.severity === "critical" ? 0 : 1) - (b.severity === "critical" ? 0 : 1) || Number(a.since) - Number(b.since),
  );
}

function alert(item) {
  const [kind, sign] = SEVERITY[item.severity] ?? SEVERITY.warning;
  return h(
    "article",
    { class: `card alert ${kind}` },
    h("span", { class: "alert-sign" }, icon(sign, 24)),
    h(
      "div",
      {},
      h("h2", {}, item.text),
      h(
        "p",
        { class: "soft small" },
        tag(item.severity, kind),
        " ",
        tag(item.kind),
        ` since ${format.when(format.ms(item.since))}, ${format.ago(item.since)}`,
      ),
      h("p", {}, h("strong", {}, "What to do: "), item.remedy),
      h("p", { class: "mono small soft" }, item.subject),
    ),
    safe(item.link)
      ? h("a", { class: "button", href: item.link, "aria-label": `Look at ${item.subject}` }, "Look")
      : null,
  );
}

/** Only places of this page are linked. */
function safe(link) {
  return typeof link === "string" && link.startsWith("#/");
}
