// A small editor of code: line numbers, Tab for two spaces, the line of an error marked. Escape lets Tab leave it.

import { fill, fresh, h, say } from "../core/dom.js";

const INDENT = "  ";

export class Editor {
  constructor({ id, label, text, onChange = () => {} }) {
    this.numbers = h("div", { class: "editor-numbers", "aria-hidden": "true" });
    const hint = fresh("editor-hint");
    this.area = h("textarea", {
      id,
      class: "editor-text",
      wrap: "off",
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      "aria-describedby": hint,
      value: text,
    });
    this.problem = h("p", { class: "editor-problem", role: "alert", hidden: true });
    this.leaves = false; // whether the next Tab leaves
    this.wrong = null;
    this.element = h(
      "div",
      { class: "field" },
      h("label", { for: id }, label),
      h("div", { class: "editor" }, this.numbers, this.area),
      this.problem,
      h("span", { class: "hint", id: hint }, "Tab makes two spaces. To leave with Tab, press Escape first."),
    );
    this.area.addEventListener("input", () => {
      this.mark(null);
      this.number();
      onChange();
    });
    this.area.addEventListener("scroll", () => (this.numbers.scrollTop = this.area.scrollTop));
    this.area.addEventListener("keydown", (event) => this.press(event));
    this.area.addEventListener("blur", () => (this.leaves = false));
    this.number();
  }

  get text() {
    return this.area.value;
  }

  set text(value) {
    this.area.value = value;
    this.mark(null);
    this.number();
  }

  /** Show where something is wrong, or that nothing is: {message, line, column}. */
  mark(problem) {
    this.wrong = problem?.line ?? null;
    this.problem.hidden = !problem;
    say(
      this.problem,
      problem
        ? `${problem.line ? `Line ${problem.line}${problem.column ? `, column ${problem.column}` : ""}: ` : ""}${problem.message}`
        : "",
    );
    this.area.setAttribute("aria-invalid", String(Boolean(problem)));
    this.number();
  }

  /** Put the caret where something is wrong. */
  go(line, column = 1) {
    const lines = this.text.split("\n");
    const at =
      lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0) + Math.max(0, (column ?? 1) - 1);
    this.area.focus();
    this.area.setSelectionRange(at, at);
  }

  number() {
    const lines = this.area.value.split("\n").length;
    this.area.rows = Math.max(8, Math.min(24, lines + 1));
    const key = `${lines} ${this.wrong}`;
    if (key === this.numbered) return;
    this.numbered = key;
    fill(
      this.numbers,
      Array.from({ length: lines }, (_, index) =>
        h("span", { class: index + 1 === this.wrong ? "wrong" : "" }, String(index + 1)),
      ),
    );
  }

  press(event) {
    if (event.key === "Escape") {
      this.leaves = true;
      return;
    }
    if (event.key === "Tab" && !this.leaves && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      if (event.shiftKey) this.dedent();
      else this.insert(INDENT);
    } else if (event.key === "Enter" && !event.isComposing) {
      const before = this.area.value.slice(0, this.area.selectionStart);
      const indent = /(?:^|\n)([ \t]*)[^\n]*$/.exec(before)[1];
      if (indent) {
        event.preventDefault();
        this.insert(`\n${indent}`);
      }
    }
    if (event.key !== "Shift") this.leaves = false;
  }

  insert(text) {
    // The browser's own way keeps what was done before, so that it can be undone.
    if (!document.execCommand("insertText", false, text)) {
      this.area.setRangeText(text, this.area.selectionStart, this.area.selectionEnd, "end");
      this.area.dispatchEvent(new Event("input"));
    }
  }

  dedent() {
    const { selectionStart, value } = this.area;
    const begin = value.lastIndexOf("\n", selectionStart - 1) + 1;
    const spaces = /^ {0,2}/.exec(value.slice(begin))[0].length;
    if (!spaces) return;
    this.area.setRangeText("", begin, begin + spaces, "preserve");
    this.area.dispatchEvent(new Event("input"));
  }
}
