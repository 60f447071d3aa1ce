// What a view says when something is wrong, empty, or done: one sentence, and what to do next.

import { h } from "../core/dom.js";
import { has, node } from "../core/node.js";
import { icon } from "./icons.js";

const TOAST_MS = 5000;
const MAX_TOASTS = 3;

/** Say for a moment what was done. */
export function toast(text, isBad = false) {
  const place = document.getElementById("toasts");
  const element = h("div", { class: `toast${isBad ? " bad" : ""}` }, text);
  place.append(element);
  while (place.children.length > MAX_TOASTS) place.firstChild.remove();
  setTimeout(() => element.remove(), TOAST_MS);
}

export function notice(kind, ...content) {
  const sign = { wrong: "warning", warning: "warning", right: "check" }[kind] ?? "info";
  return h("div", { class: `notice ${kind}` }, icon(sign), h("div", {}, ...content));
}

/** Say why the node refused, and what to do about it. */
export function trouble(error, again = null) {
  const { title, advice } = explained(error);
  return h(
    "div",
    { class: "notice wrong", role: "alert" },
    icon(error.status === 401 || error.status === 403 ? "lock" : "warning"),
    h(
      "div",
      {},
      h("strong", {}, title),
      error.status === 401 ? null : h("p", {}, error.message), // which is for programs
      advice ? h("p", { class: "soft" }, advice) : null,
      h(
        "div",
        { class: "buttons" },
        again ? h("button", { class: "button slim", type: "button", on: { click: again } }, "Try again") : null,
        loginButton(error),
      ),
    ),
  );
}

/** Say that there is nothing yet, and how something comes. */
export function empty(title, text, ...more) {
  return h("div", { class: "empty" }, h("strong", {}, title), h("p", {}, text), ...more);
}

/** A place that is being filled. */
export function waiting(text = "Loading…") {
  return h("p", { class: "empty", role: "status" }, text);
}

function explained(error) {
  const who = node.info && !node.info.anonymous ? `You are logged in as ${node.info.user}.` : "You are not logged in.";
  switch (error.status) {
    case 0:
      return { title: "No connection", advice: "The page goes on by itself as soon as the node answers." };
    case 401:
      return { title: "Say who you are", advice: "Log in as a user of this node." };
    case 403:
      return {
        title: "You may not see or do this",
        advice: has("users")
          ? `${who} Ask whoever runs the node for the permission, or log in as another user.`
          : "Ask whoever runs the node for the permission.",
      };
    case 404:
      return { title: "There is no such thing here", advice: "" };
    case 429:
      return { title: "Too many ask at once", advice: "Wait a moment, then try again." };
    default:
      return { title: error.status >= 500 ? "The node failed" : "This did not work", advice: "" };
  }
}

function loginButton(error) {
  if ((error.status !== 401 && error.status !== 403) || !has("users")) return null;
  const open = async () => {
    const { login } = await import("../core/session.js");
    login();
  };
  return h(
    "button",
    { class: "button slim", type: "button", on: { click: open } },
    node.info?.anonymous === false ? "Log in as another user" : "Log in",
  );
}
