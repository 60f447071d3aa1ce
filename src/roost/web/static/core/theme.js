// Light, dark, or as the device has it; and the colours of the sheet for what is painted by hand.

import { icon } from "../parts/icons.js";
import { fill } from "./dom.js";
import { keep, kept } from "./keep.js";

const NEXT = { auto: "light", light: "dark", dark: "auto" };
const SIGNS = { auto: "half", light: "sun", dark: "moon" };
const WORDS = { auto: "as the device", light: "light", dark: "dark" };
const listeners = new Set();
const inks = new Map();
const probe = document.createElement("span");

/** Make a button go through the themes. */
export function startTheme(button) {
  probe.hidden = true;
  document.body.append(probe);
  const show = () => {
    const now = kept("theme", "auto");
    if (now === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = now;
    fill(button, icon(SIGNS[now] ?? "half"));
    button.setAttribute("aria-label", `Theme: ${WORDS[now] ?? WORDS.auto}. Change to ${WORDS[NEXT[now] ?? "auto"]}`);
    button.title = `Theme: ${WORDS[now] ?? WORDS.auto}`;
    inks.clear();
    for (const each of listeners) each();
  };
  button.addEventListener("click", () => {
    const next = NEXT[kept("theme", "auto")] ?? "auto";
    keep("theme", next === "auto" ? null : next);
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
}

/** Paint again when the colours change; returns how to stop. */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** A colour of the sheet as the canvas takes it: ink("accent"). */
export function ink(name) {
  let colour = inks.get(name);
  if (colour === undefined) {
    probe.style.color = `var(--${name})`;
    colour = getComputedStyle(probe).color;
    inks.set(name, colour);
  }
  return colour;
}
