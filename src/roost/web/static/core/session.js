// Who looks: logging in and out. The cookie is out of the reach of scripts, and the password is kept nowhere.

import { onUnauthorized, send, Trouble } from "./api.js";
import { fill, h } from "./dom.js";
import { has, learn, node, onNode } from "./node.js";
import { icon } from "../parts/icons.js";
import { openDialog } from "../parts/dialog.js";
import { toast } from "../parts/notice.js";

let open = null;
let changed = () => {};

/** Show in a button who looks, and let it log in and out; `onChange` is told when it is somebody else. */
export function startSession(button, onChange) {
  changed = onChange;
  onNode((info) => {
    const user = info && !info.anonymous ? info.user : null;
    button.hidden = user === null && !has("users");
    fill(button, icon("user", 18), h("span", { class: "one-line" }, user ?? "Log in"));
    button.setAttribute("aria-label", user === null ? "Log in" : `Account of ${user}`);
  });
  button.addEventListener("click", () => (node.info && !node.info.anonymous ? account() : login()));
  onUnauthorized(() => {
    if (node.info === null || !node.info.anonymous) login();
  });
}

/** Ask for a name and a password; one dialog at a time. */
export function login() {
  if (open) return;
  const name = h("input", {
    name: "user",
    autocomplete: "username",
    required: true,
    autocapitalize: "none",
    spellcheck: "false",
  });
  const password = h("input", { name: "password", type: "password", autocomplete: "current-password" });
  const wrong = h("div", { role: "alert" });
  const submit = h("button", { class: "button first", type: "submit" }, "Log in");
  const form = h(
    "form",
    { class: "form", method: "post", on: { submit: (event) => attempt(event) } },
    field("Name", name),
    field("Password", password),
    wrong,
    h(
      "div",
      { class: "buttons" },
      h("button", { class: "button", type: "button", on: { click: () => open?.close() } }, "Not now"),
      submit,
    ),
  );
  const dialog = openDialog("Log in", [
    h("p", { class: "soft" }, "Users are those of this node's configuration."),
    form,
  ]);
  open = dialog;
  dialog.onClose(() => {
    password.value = "";
    open = null;
  });
  name.focus();

  async function attempt(event) {
    event.preventDefault();
    submit.disabled = true;
    fill(wrong);
    try {
      await send("POST", "/session", { user: name.value, password: password.value });
      dialog.close();
      await changedTo();
      toast(`You are logged in as ${name.value}.`);
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      password.value = "";
      fill(wrong, h("p", { class: "notice wrong" }, icon("warning"), h("span", {}, error.message)));
      password.focus();
    } finally {
      submit.disabled = false;
    }
  }
}

function account() {
  const { user, may = {} } = node.info;
  const granted = Object.entries(may).filter(([, allowed]) => allowed);
  const leave = async () => {
    dialog.close();
    await send("DELETE", "/session").catch(() => {});
    await changedTo();
    toast("You are logged out.");
  };
  const dialog = openDialog(user, [
    h("p", { class: "soft" }, "You see what this user may read. Beyond reading, this user may:"),
    h("p", {}, granted.length ? granted.map(([what]) => h("span", { class: "tag accent" }, what)) : "nothing"),
    h(
      "div",
      { class: "buttons" },
      h("button", { class: "button", type: "button", on: { click: () => dialog.close() } }, "Close"),
      h("button", { class: "button danger", type: "button", on: { click: leave } }, "Log out"),
    ),
  ]);
}

async function changedTo() {
  try {
    await learn();
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
  }
  changed();
}

function field(label, input) {
  const id = `login-${input.name}`;
  input.id = id;
  return h("div", { class: "field" }, h("label", { for: id }, label), input);
}
