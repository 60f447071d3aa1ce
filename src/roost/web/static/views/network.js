// The network of the node: its faces, where names lead, what it keeps in memory, what it waits for.

import { get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import * as format from "../core/format.js";
import { card, figures, head, table, tag } from "../parts/frame.js";
import { empty } from "../parts/notice.js";

const POLL_MS = 2000;
const COUNTED = {
  in_interests: "Interests in",
  in_data: "Data in",
  in_nacks: "Nacks in",
  out_interests: "Interests out",
  out_data: "Data out",
  out_nacks: "Nacks out",
  satisfied: "Interests answered",
  unsatisfied: "Interests that nobody answered",
  unsolicited: "Data that nobody asked for",
  routes: "Names with a route",
};

export async function show({ scope }) {
  const place = h("div", {});
  let before = null;
  const round = async () => {
    const network = await get("/network", {}, scope.signal);
    const now = Date.now();
    if (!place.contains(document.activeElement))
      fill(place, shown(network, before ? rates(network, before, now) : new Map()));
    before = { network, time: now };
  };
  await round();
  scope.every(POLL_MS, () => scope.run(round));
  return h(
    "div",
    {},
    head(
      "Network",
      "Readings are asked for by name. A face leads to a neighbour or a program; the tables say which face a name goes to.",
    ),
    place,
  );
}

/** Packets per second of each face, both ways, since the last round. */
function rates(network, before, now) {
  const seconds = Math.max(0.5, (now - before.time) / 1000);
  const old = new Map(before.network.faces.map((each) => [each.id, each]));
  const sum = (face) => face.in_interests + face.in_data + face.out_interests + face.out_data;
  return new Map(
    network.faces.map((each) => [
      each.id,
      old.has(each.id) ? Math.max(0, sum(each) - sum(old.get(each.id))) / seconds : null,
    ]),
  );
}

function shown({ faces, fib, strategies, store, pit, counters }, perSecond) {
  const asked = (store?.hits ?? 0) + (store?.misses ?? 0);
  return [
    figures([
      ["Faces", `${faces.filter((each) => each.up).length}`, `of ${faces.length} up`],
      ["Names known", format.count(fib.length)],
      [
        "Served from memory",
        asked ? `${Math.round((100 * store.hits) / asked)} %` : "–",
        asked ? `of ${format.count(asked)}` : null,
      ],
      ["Kept in memory", format.count(store?.entries), store?.capacity ? `of ${format.count(store.capacity)}` : null],
      ["Waiting", format.count(pit?.entries), pit?.entries === 1 ? "Interest" : "Interests"],
    ]),
    card(
      "Faces",
      faces.length ? facesTable(faces, perSecond) : empty("No faces", "This node talks to nobody over NDN."),
      { flush: true },
    ),
    h(
      "div",
      { class: "columns below" },
      card(
        "Where names lead",
        fib.length
          ? table(
              [
                ["Name", (each) => h("span", { class: "mono small" }, each.name)],
                [
                  "Faces and costs",
                  (each) => each.hops.map((hop) => `${hop.face} (${hop.cost})`).join(", ") || "–",
                  "whole",
                ],
              ],
              fib,
              { label: "Where names lead" },
            )
          : empty("No routes", "Names are served here or not at all."),
        { flush: true, props: { class: "two-thirds" } },
      ),
      h(
        "div",
        { class: "third stack" },
        card(
          "Strategies",
          table(
            [
              ["Name", (each) => h("span", { class: "mono small" }, each.name)],
              ["Strategy", (each) => h("span", { title: each.strategy }, strategy(each.strategy)), "whole"],
            ],
            strategies,
            { label: "Strategies" },
          ),
          { flush: true, text: "How a face is chosen where a name leads to several." },
        ),
        counters && Object.keys(counters).length
          ? card(
              "Counters",
              table(
                [
                  ["What", ([key]) => COUNTED[key] ?? key],
                  ["Count", ([, value]) => value.toLocaleString("en"), "number"],
                ],
                Object.entries(counters).sort(([a], [b]) => a.localeCompare(b)),
                { label: "Counters" },
              ),
              { flush: true },
            )
          : null,
      ),
    ),
  ];
}

/** What a strategy is called: the part of its name that says so. */
function strategy(name) {
  return name
    .split("/strategy/")
    .at(-1)
    .replace(/\/v=.*$/, "");
}

function facesTable(faces, perSecond) {
  const both = (face, kind) => `${format.count(face[`in_${kind}`])} / ${format.count(face[`out_${kind}`])}`;
  return table(
    [
      ["Face", (each) => String(each.id)],
      ["Leads to", (each) => [h("span", { class: "mono small" }, each.uri), h("span", { class: "soft" }, each.scope)]],
      ["State", (each) => (each.up ? tag("up", "good", "check") : tag("down", "bad", "cross")), "whole"],
      [
        "Packets",
        (each) =>
          perSecond.get(each.id) === null || perSecond.get(each.id) === undefined
            ? "–"
            : `${format.number(Math.round(perSecond.get(each.id) * 10) / 10)}/s`,
        "number",
      ],
      ["Interests in / out", (each) => both(each, "interests"), "number"],
      ["Data in / out", (each) => both(each, "data"), "number"],
      ["Bytes in / out", (each) => `${format.bytes(each.in_bytes)} / ${format.bytes(each.out_bytes)}`, "number"],
    ],
    faces,
    { label: "Faces" },
  );
}
