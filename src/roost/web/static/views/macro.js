// One macro, there already or new: its code, what it does with the past before anybody sees it, and what it has done.

import { get, send, tagOf, Trouble } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import * as format from "../core/format.js";
import { may } from "../core/node.js";
import { to } from "../core/routes.js";
import { confirmed } from "../parts/dialog.js";
import { Editor } from "../parts/editor.js";
import { button, card, facts, field, figures, head, tag } from "../parts/frame.js";
import { glossary } from "../parts/glossary.js";
import { failure, runsTable } from "../parts/runs.js";
import { empty, notice, toast, trouble, waiting } from "../parts/notice.js";
import { state } from "./macros.js";

const EXAMPLE =
  "// The mean of what matches; runs whenever one of them says something.\nfunction() {\n  const values = Noctua.topic('room1/+', {limit: 8, required: 2})\n    .map(each => each.value)\n    .filter(Number.isFinite)\n  return values.reduce((sum, each) => sum + each, 0) / values.length\n}()\n";
const SPANS = [
  ["10m", "the last 10 minutes"],
  ["1h", "the last hour"],
  ["24h", "the last day"],
  ["7d", "the last week"],
];
const RUNS = 200;
const TRACES_MS = 5000;

export async function show({ scope, name }) {
  const macro = name ? await get(`/macros/${format.path(name)}`, {}, scope.signal) : null;
  const view = new Desk(scope, name, macro);
  if (macro)
    scope.every(TRACES_MS, () =>
      scope.run(
        () => view.traces(),
        (error) => fill(view.runs, trouble(error)),
      ),
    );
  return view.element;
}

class Desk {
  constructor(scope, name, macro) {
    this.scope = scope;
    this.macro = macro;
    const given = macro?.definition ?? {};
    this.name = h("input", {
      id: "macro-name",
      value: name,
      required: true,
      readonly: Boolean(macro),
      placeholder: "room1/mean",
      spellcheck: "false",
      autocomplete: "off",
    });
    this.description = h("input", { id: "macro-description", value: given.description ?? "", autocomplete: "off" });
    this.trigger = h("input", {
      id: "macro-trigger",
      value: given.trigger ?? "arrival",
      list: "triggers",
      spellcheck: "false",
      autocomplete: "off",
    });
    this.editor = new Editor({
      id: "macro-code",
      label: "Code",
      text: given.code ?? EXAMPLE,
      onChange: () => (this.isChanged = true),
    });
    this.since = h(
      "select",
      { id: "trial-since", value: "1h" },
      SPANS.map(([key, text]) => h("option", { value: key }, text)),
    );
    this.since.value = "1h";
    this.answer = h("div", { role: "status" });
    this.trial = h(
      "div",
      {},
      empty("Not tried yet", "“Try on history” runs the code over past readings. Nothing is published."),
    );
    this.runs = h("div", {}, waiting());
    this.element = this.made(name);
  }

  made(name) {
    const { macro } = this;
    const isPython = macro?.definition?.language === "python";
    const isLocked = isPython || !may("macros");
    const actions = h(
      "div",
      { class: "buttons" },
      button("Try on history", () => this.try(), { sign: "play" }),
      this.since,
      h("span", { class: "grow" }),
      macro ? button("Delete", () => this.delete(), { kind: "danger", disabled: isLocked }) : null,
      button("Deploy", () => this.deploy(), { kind: "first", disabled: isLocked }),
    );
    this.since.setAttribute("aria-label", "How much history");
    return h(
      "div",
      { class: "macro" },
      head(name || "New macro", macro ? `Results are on ${macro.topic}.` : "Its results are on Noctua/ and its name.", {
        trail: [["Macros", "#/macros"]],
        actions: macro ? [state(macro)] : [],
      }),
      macro?.refusal ? notice("wrong", h("strong", {}, "This node does not run it. "), macro.refusal) : null,
      macro?.counters ? this.figures() : null,
      h(
        "div",
        { class: "columns" },
        card(
          "Program",
          h(
            "form",
            { class: "form", on: { submit: (event) => event.preventDefault() } },
            isPython
              ? notice("", "Macros in Python belong to whoever runs the node: change it in the node's own files.")
              : null,
            h(
              "div",
              { class: "row" },
              field("Name", this.name),
              field("Runs on", this.trigger, "arrival, set, or every 10s"),
              h(
                "datalist",
                { id: "triggers" },
                ["arrival", "set", "every 10s"].map((each) => h("option", { value: each })),
              ),
            ),
            field("Description", this.description),
            this.editor.element,
            this.answer,
            actions,
          ),
          { props: { class: "two-thirds" } },
        ),
        h(
          "div",
          { class: "third stack" },
          card("What there is", glossary()),
          macro ? card("About", this.about()) : null,
        ),
      ),
      h(
        "div",
        { class: "stack below" },
        card("Tried on history", this.trial, { flush: true }),
        macro
          ? card("Last runs", this.runs, {
              flush: true,
              text: "What it was given, what it said, and how long it took.",
            })
          : null,
      ),
    );
  }

  figures() {
    const { activations = 0, runs = 0, results = 0, failures = 0, limited = 0 } = this.macro.counters;
    return figures([
      ["Activations", format.count(activations)],
      ["Runs", format.count(runs)],
      ["Results", format.count(results)],
      ["Failures", format.count(failures), failures ? tag("look below", "bad", "warning") : null],
      ["Left out", format.count(limited)],
    ]);
  }

  about() {
    const { macro } = this;
    return facts([
      ["Version", String(macro.version)],
      ["Runs at", macro.runs_on],
      ["Digest", h("span", { class: "mono small" }, macro.digest)],
      ["Last failure", macro.last_failure ? failure(macro.last_failure) : ""],
    ]);
  }

  definition() {
    const said = {
      ...(this.macro?.definition ?? {}),
      name: this.name.value.trim(),
      code: this.editor.text,
      trigger: this.trigger.value.trim() || "arrival",
    };
    const description = this.description.value.trim();
    if (description) said.description = description;
    else delete said.description;
    return said;
  }

  async try() {
    fill(this.answer);
    fill(this.trial, waiting("Running over the past…"));
    await this.scope.run(
      async () => {
        const said = await send(
          "POST",
          "/trial",
          { definition: this.definition(), since: this.since.value, limit: RUNS },
          this.scope.signal,
        );
        this.editor.mark(null);
        this.tried(said);
      },
      (error) => {
        this.refused(error);
        fill(this.trial, empty("It could not be tried", "What is wrong is told beside the code."));
      },
    );
  }

  tried(found) {
    const { runs, failures, results } = found;
    const failed = runs.find((each) => each.failure);
    if (failed?.failure.line) this.editor.mark(failed.failure);
    const looked = found.readings === undefined ? "" : `${format.counted(found.readings, "reading")} looked at`;
    const sum = [
      format.counted(runs.length, "run"),
      format.counted(results, "result"),
      format.counted(failures, "failure"),
      looked,
    ]
      .filter(Boolean)
      .join(", ");
    fill(
      this.trial,
      h(
        "div",
        { class: "inset" },
        notice(
          failures ? "warning" : runs.length ? "right" : "",
          h("strong", {}, sum),
          failed
            ? h("p", {}, failure(failed))
            : !runs.length
              ? h(
                  "p",
                  {},
                  found.waited
                    ? `${format.counted(found.waited, "activation")} had too few values: it waits for something.`
                    : "Nothing in that time activated it: look further back, or check the names of the topics.",
                )
              : null,
        ),
      ),
      runs.length ? runsTable(runs, (line, column) => this.editor.go(line, column)) : null,
    );
  }

  async deploy() {
    const definition = this.definition();
    if (!definition.name) {
      fill(this.answer, notice("wrong", "Give it a name first: a topic such as room1/mean."));
      this.name.focus();
      return;
    }
    const headers = this.macro ? { "If-Match": tagOf(this.macro) } : { "If-None-Match": "*" };
    await this.scope.run(
      async () => {
        const made = await send(
          "PUT",
          `/macros/${format.path(definition.name)}`,
          definition,
          this.scope.signal,
          headers,
        );
        toast(`${definition.name} runs as version ${made.version}.`);
        this.isChanged = false;
        if (this.macro) dispatchEvent(new HashChangeEvent("hashchange"));
        else location.hash = to.macro(definition.name);
      },
      (error) => this.refused(error),
    );
  }

  refused(error) {
    if (error.line) {
      this.editor.mark({
        message: error.message.replace(/^.*?line \d+, column \d+: ?/, ""),
        line: error.line,
        column: error.column,
      });
      this.editor.go(error.line, error.column);
      return;
    }
    if (error.status === 412) {
      const advice = this.macro
        ? "Somebody changed it meanwhile. Copy your code, reload, and look at both."
        : "There is a macro of that name already: choose another, or open that one.";
      fill(this.answer, trouble(new Trouble(412, advice)));
      return;
    }
    fill(this.answer, trouble(error));
  }

  async delete() {
    const name = this.name.value;
    if (!(await confirmed(`Delete ${name}?`, "It ends, and its state is gone. What it published stays.", "Delete it")))
      return;
    await this.scope.run(
      async () => {
        await send("DELETE", `/macros/${format.path(name)}`, undefined, this.scope.signal);
        toast(`${name} is deleted.`);
        location.hash = "#/macros";
      },
      (error) => this.refused(error),
    );
  }

  async traces() {
    const runs = await get(`/traces/${format.path(this.name.value)}`, {}, this.scope.signal);
    if (this.runs.contains(document.activeElement)) return;
    fill(
      this.runs,
      runs.length
        ? runsTable(runs, (line, column) => this.editor.go(line, column))
        : empty(
            "It has not run since the node started",
            "It runs when something that it reads arrives. Runs whose inputs you may not read are not shown.",
          ),
    );
  }
}
