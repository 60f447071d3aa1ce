// Dialogs: the browser's own, which keeps the focus inside and gives it back; and the question before what cannot be undone.

import { fresh, h } from "../core/dom.js";

/** Open a dialog; returns {close, onClose}. */
export function openDialog(title, content) {
  const id = fresh("dialog");
  const before = document.activeElement;
  const element = h("dialog", { "aria-labelledby": id }, h("h2", { id }, title), ...content);
  const closings = [];
  element.addEventListener("close", () => {
    element.remove();
    for (const each of closings) each();
    if (before?.isConnected) before.focus();
  });
  element.addEventListener("click", (event) => {
    if (event.target !== element) return;
    const box = element.getBoundingClientRect();
    const inside =
      event.clientX >= box.left &&
      event.clientX <= box.right &&
      event.clientY >= box.top &&
      event.clientY <= box.bottom;
    if (!inside) element.close();
  });
  document.body.append(element);
  element.showModal();
  return { element, close: () => element.close(), onClose: (closing) => closings.push(closing) };
}

/** Ask whether to do what cannot be undone; resolves to true or false. */
export function confirmed(title, text, action) {
  return new Promise((resolve) => {
    let answer = false;
    const dialog = openDialog(title, [
      h("p", {}, text),
      h(
        "div",
        { class: "buttons" },
        h(
          "button",
          { class: "button", type: "button", autofocus: true, on: { click: () => dialog.close() } },
          "Keep it",
        ),
        h(
          "button",
          { class: "button danger", type: "button", on: { click: () => ((answer = true), dialog.close()) } },
          action,
        ),
      ),
    ]);
    dialog.onClose(() => resolve(answer));
  });
}
