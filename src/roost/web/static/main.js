// Starts the page: navigation, the live line, who looks; and shows the view that the address names.

import { fill, h, say } from "./core/dom.js";
import { Trouble } from "./core/api.js";
import { live } from "./core/live.js";
import { has, learn, node, onNode } from "./core/node.js";
import { readHash, VIEWS } from "./core/routes.js";
import { Scope } from "./core/scope.js";
import { startSession } from "./core/session.js";
import { startTheme } from "./core/theme.js";
import { icon } from "./parts/icons.js";
import { trouble, waiting } from "./parts/notice.js";

const LEARN_MS = 30_000;
const SAY_LOST_MS = 1000;
const at = (id) => document.getElementById(id);

let scope = new Scope();
let shown = null;

function startNavigation() {
  const menu = at("menu");
  const nav = at("nav");
  fill(menu, icon("menu"));
  const set = (open) => {
    nav.classList.toggle("open", open);
    menu.setAttribute("aria-expanded", String(open));
  };
  menu.addEventListener("click", () => {
    set(!nav.classList.contains("open"));
    if (nav.classList.contains("open")) nav.querySelector("a")?.focus();
  });
  nav.addEventListener("click", () => set(false));
  at("main").addEventListener("pointerdown", () => set(false));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && nav.classList.contains("open")) {
      set(false);
      menu.focus();
    }
  });
  at("skip").addEventListener("click", (event) => {
    event.preventDefault();
    at("main").focus();
  });
}

let offered = null;

function showNavigation() {
  const key = Object.values(VIEWS)
    .map((view) => !view.feature || has(view.feature))
    .join();
  if (key === offered) return; // the focus may be in it
  offered = key;
  const links = Object.entries(VIEWS).filter(([, view]) => view.label && (!view.feature || has(view.feature)));
  const item = ([name, view]) =>
    h(
      "li",
      { class: view.feature ? "apart" : "" },
      h(
        "a",
        { href: `#/${name}`, data: { view: name } },
        icon(view.icon),
        view.label,
        name === "alerts" ? h("span", { class: "count", id: "alert-count", hidden: true }) : null,
      ),
    );
  fill(at("nav"), h("ul", {}, links.map(item)));
  mark();
  showAlertCount();
}

function mark() {
  for (const link of at("nav").querySelectorAll("a")) {
    if (link.dataset.view === shown) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

let alerts = [];
let told = new Set(); // those that were announced

function showAlertCount() {
  const place = at("alert-count");
  if (!place) return;
  place.hidden = alerts.length === 0;
  say(place, String(alerts.length));
  place.setAttribute("aria-label", `${alerts.length} open`);
}

function startLine() {
  const words = { live: "Live", connecting: "Connecting", lost: "No connection", idle: "Not connected" };
  let timer = null;
  live.watch((state, gap) => {
    if (state === "live") setAlerts([]); // those that there are come at once
    at("pulse").dataset.state = state;
    say(at("pulse-text"), words[state]);
    const banner = at("banner");
    clearTimeout(timer);
    if (state === "lost") {
      timer = setTimeout(() => {
        fill(
          banner,
          h("span", {}, "The connection to the node is lost. What you see may be old; the page comes back by itself."),
          h("span", { class: "grow" }),
          h("button", { class: "button slim", type: "button", on: { click: () => live.again() } }, "Try now"),
        );
        banner.hidden = false;
      }, SAY_LOST_MS);
    } else if (state !== "connecting") {
      banner.hidden = true;
      if (gap !== null && gap > SAY_LOST_MS) say(at("announcer"), "The connection is back.");
    }
  });
  live.onWrong((wrong) => {
    at("part").hidden = !wrong;
    say(at("part"), wrong ? `Not everything here is live: ${wrong}` : "");
  });
  live.want(
    {},
    {
      alerts: (list) => {
        const fresh = list.find((each) => !told.has(each.id));
        if (fresh) say(at("announcer"), `${list.length} alerts: ${fresh.text}`);
        told = new Set(list.map((each) => each.id));
        setAlerts(list);
      },
    },
  );
}

function setAlerts(list) {
  alerts = list;
  showAlertCount();
  dispatchEvent(new CustomEvent("roost:alerts", { detail: list }));
}

async function show() {
  const address = readHash(location.hash);
  const known = VIEWS[address.view];
  const isFirst = shown === null;
  scope.end();
  scope = new Scope();
  const mine = scope;
  shown = known ? (known.mark ?? address.view) : "";
  mark();
  if (!known) {
    fill(
      at("view"),
      h("h1", { tabindex: "-1" }, "There is no such view"),
      h("p", {}, "The address may be of another version. ", h("a", { href: "#/" }, "Go to the campus")),
    );
    return;
  }
  try {
    const view = await known.load();
    if (mine.ended) return;
    const made = await view.show({ scope: mine, name: address.name, parameters: address.parameters });
    if (mine.ended) return;
    fill(at("view"), made);
  } catch (error) {
    if (mine.ended || error.name === "AbortError") return;
    if (!(error instanceof Trouble)) throw error;
    fill(at("view"), h("h1", { tabindex: "-1" }, known.label ?? "Roost"), trouble(error, show));
  }
  arrive(isFirst);
}

/** Name the view in the title, and bring the focus to it unless it is the first. */
function arrive(isFirst) {
  const title = at("view").querySelector("h1");
  document.title = `${title?.textContent ?? "Roost"} · ${node.info?.name ?? "Roost"}`;
  if (isFirst) return;
  scrollTo(0, 0);
  title?.focus({ preventScroll: true });
}

async function start() {
  startTheme(at("theme"));
  startNavigation();
  startLine();
  startSession(at("account"), () => {
    isShut = false;
    live.close();
    if (node.info) live.open();
    show();
  });
  onNode((info) => say(at("node-name"), info?.name ?? ""));
  onNode(showNavigation);
  addEventListener("hashchange", () => show());
  fill(at("view"), waiting());
  await meet();
  await show();
}

let isShut = false; // until somebody logs in

/** Learn about the node, now and again, and more often until it answers. */
async function meet() {
  const knew = node.info !== null;
  try {
    if (!isShut && !(knew && document.hidden)) await learn();
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    isShut = error.status === 401; // the log-in is asked for once
  }
  if (node.info && live.state === "idle") live.open();
  if (node.info && !knew && shown !== null) show();
  setTimeout(meet, node.info || isShut ? LEARN_MS : SAY_LOST_MS * 2);
}

start();
