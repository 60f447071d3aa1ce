// What a macro can say, in short; docs/macros.md has all of it.

import { h } from "../core/dom.js";

/** A list of terms. */
export function glossary() {
  const line = (code, text) => [h("dt", {}, h("code", {}, code)), h("dd", {}, text)];
  return h(
    "dl",
    { class: "glossary" },
    line("Noctua.topic('a/b')", "the newest value; + and # are wildcards"),
    line("{required, limit, cutoff}", "how many values, and how old they may be, in seconds"),
    line("{detail: true}", "with unit, time and quality"),
    line("Noctua.state", "what is kept from run to run"),
    line("console.log(…)", "a line in the trace"),
  );
}
