// Roles: the documents that say who gets what of a topic, what comes of them, and why somebody gets what they get.

import { get, send, tagOf } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import * as format from "../core/format.js";
import { has, may, node } from "../core/node.js";
import { to } from "../core/routes.js";
import { confirmed } from "../parts/dialog.js";
import { Editor } from "../parts/editor.js";
import { button, card, field, head, table, tag } from "../parts/frame.js";
import { empty, notice, toast, trouble, waiting } from "../parts/notice.js";

const MOST = 300; // documents that are listed
const NEW =
  '{\n  "developer": {"streams": ["raw", "{topic}/anonymize"], "default": "raw"},\n  "customer": {"streams": ["{topic}/anonymize"]},\n  "visitor": {"streams": []}\n}\n';

export async function show({ scope, parameters }) {
  const top = head(
    "Roles",
    "Permissions say whether somebody may read a topic; roles say what they get of it: the readings as they are, or what a macro made of them.",
  );
  if (!has("roles"))
    return h(
      "div",
      {},
      top,
      card(
        null,
        empty(
          "There are no roles here",
          "Write roles: in the node's configuration, with documents and users; then everything here comes alive.",
        ),
      ),
    );
  const topics = await get("/rbps", {}, scope.signal);
  const chosen = parameters.get("topic") ?? topics[0] ?? "";
  const place = h("div", { class: "stack" });
  const isNew = chosen && !topics.includes(chosen);
  if (chosen)
    scope.run(
      () => showDocument(place, chosen, isNew, scope),
      (error) => fill(place, trouble(error)),
    );
  const list = h(
    "ul",
    { class: "picks" },
    topics.slice(0, MOST).map((each) =>
      h("li", {}, h("a", { href: to.roles(each), "aria-current": each === chosen ? "true" : null }, each)),
    ),
  );
  return h(
    "div",
    {},
    top,
    h(
      "div",
      { class: "columns" },
      h(
        "div",
        { class: "third stack" },
        card(
          "Documents",
          topics.length
            ? [list, topics.length > MOST ? notice("warning", `These are the first ${MOST} of ${topics.length}.`) : null]
            : empty("No documents yet", "Without one, everybody who may read a topic gets it as it is."),
          { text: "Each is for a topic or a filter; the most specific one counts." },
        ),
        may("roles") ? newDocument() : null,
        explain(scope, chosen),
      ),
      h(
        "div",
        { class: "two-thirds" },
        chosen ? place : card(null, empty("Nothing chosen", "Choose a document, or make one.")),
      ),
    ),
  );
}

async function showDocument(place, topic, isNew, scope) {
  fill(place, waiting());
  const document_ = isNew ? null : await get(`/rbps/${format.path(topic)}`, {}, scope.signal);
  const seen = h("div", {});
  const example = document_ ? await exampleOf(topic, scope) : topic;
  const input = h("input", {
    id: "views-topic",
    value: /[+#]/.test(topic) ? "" : topic,
    placeholder: example,
    spellcheck: "false",
    autocomplete: "off",
  });
  const look = () =>
    scope.run(
      async () =>
        showViews(seen, await get("/views", { topic: input.value.trim() || input.placeholder }, scope.signal)),
      (error) => fill(seen, trouble(error)),
    );
  fill(
    place,
    card(
      topic,
      document_
        ? table(
            [
              ["Role", ([role]) => h("strong", {}, role === "*" ? "everybody else" : role)],
              ["May see", ([, said]) => streams(said.streams, topic)],
              ["Gets", ([, said]) => said.default ?? said.streams[0] ?? tag("nothing", "bad", "lock")],
            ],
            Object.entries(document_.roles),
            { label: `Roles of ${topic}` },
          )
        : empty("A new document", "Write below who gets what."),
      { flush: true, text: "raw is the topic itself; all else is the name of a macro." },
    ),
    document_
      ? card(
          "Who sees what",
          [
            h(
              "form",
              { class: "row", on: { submit: (event) => (event.preventDefault(), look()) } },
              field("Topic", input),
              h("button", { class: "button", type: "submit" }, "Look"),
            ),
            seen,
          ],
          { text: "What comes of all documents together for one topic." },
        )
      : null,
    may("roles") ? edit(topic, document_, scope) : null,
  );
  if (document_) look();
}

/** A topic that a document governs: one that there is, or else one that there might be. */
async function exampleOf(topic, scope) {
  if (!/[+#]/.test(topic)) return topic;
  const first = async (match) => (await get("/streams", { match, limit: 1 }, scope.signal)).items[0]?.topic;
  const seen = await first(topic);
  if (seen) return seen;
  const made = topic.endsWith("#") ? null : await first(`Noctua/${topic}/+`); // what somebody gets instead of it
  return made ? made.split("/").slice(1, -1).join("/") : topic.replaceAll("+", "room1").replace("#", "room1/temp");
}

function streams(names, topic) {
  return names.length
    ? names.map((each) => [h("code", {}, each === "raw" ? `raw (${topic})` : each), h("br")])
    : tag("nothing", "bad", "lock");
}

function showViews(place, views) {
  const mark = (role, stream) =>
    role.streams.includes(stream)
      ? tag(role.default === stream ? "gets this" : "may see it", role.default === stream ? "good" : "accent", "check")
      : tag("hidden", "", "lock");
  if (!views.roles.length) {
    fill(place, empty("No document governs this topic", "Everybody who may read it gets it as it is."));
    return;
  }
  fill(
    place,
    h(
      "p",
      { class: "hint small above" },
      views.document ? ["By the document ", h("code", {}, views.document)] : "No document governs it.",
    ),
    table(
      [
        ["Role", (role) => h("strong", {}, role.role === "*" ? "everybody else" : role.role)],
        ...views.streams.map((stream) => [stream, (role) => mark(role, stream)]),
      ],
      views.roles,
      { label: `Who sees what of ${views.topic}` },
    ),
  );
}

function edit(topic, document_, scope) {
  const editor = new Editor({
    id: "roles-text",
    label: "Roles, as JSON",
    text: document_ ? `${JSON.stringify(document_.roles, null, 2)}\n` : NEW,
  });
  const answer = h("div", { role: "status" });
  const save = () => {
    fill(answer);
    let roles;
    try {
      roles = JSON.parse(editor.text);
    } catch (error) {
      editor.mark({ message: `This is not JSON: ${error.message}` });
      return;
    }
    const headers = document_ ? { "If-Match": tagOf(document_) } : { "If-None-Match": "*" };
    scope.run(
      async () => {
        await send("PUT", `/rbps/${format.path(topic)}`, { roles }, scope.signal, headers);
        toast(`The document of ${topic} holds from now on.`);
        dispatchEvent(new HashChangeEvent("hashchange"));
      },
      (error) => fill(answer, trouble(error)),
    );
  };
  const end = async () => {
    if (
      !(await confirmed(
        `Take back the document of ${topic}?`,
        "Then everybody who may read the topic gets it as it is, unless another document governs it.",
        "Take it back",
      ))
    )
      return;
    scope.run(
      async () => {
        await send("DELETE", `/rbps/${format.path(topic)}`, undefined, scope.signal);
        toast(`The document of ${topic} is gone.`);
        location.hash = "#/roles";
        dispatchEvent(new HashChangeEvent("hashchange"));
      },
      (error) => fill(answer, trouble(error)),
    );
  };
  return card(
    "Change it",
    h(
      "div",
      { class: "form" },
      editor.element,
      answer,
      h(
        "div",
        { class: "buttons" },
        h("span", { class: "grow" }),
        document_ ? button("Take back", end, { kind: "danger" }) : null,
        button("Put it in force", save, { kind: "first" }),
      ),
    ),
  );
}

function newDocument() {
  const input = h("input", {
    id: "roles-new",
    required: true,
    placeholder: "Hall/+/temp",
    spellcheck: "false",
    autocomplete: "off",
  });
  const go = (event) => {
    event.preventDefault();
    location.hash = to.roles(input.value.trim());
  };
  return card(
    "New document",
    h(
      "form",
      { class: "row", on: { submit: go } },
      field("Topic or filter", input),
      h("button", { class: "button", type: "submit" }, "Write"),
    ),
  );
}

function explain(scope, chosen) {
  const user = h("input", {
    id: "explain-user",
    value: node.info?.user ?? "",
    placeholder: "you",
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "none",
  });
  const topic = h("input", {
    id: "explain-topic",
    required: true,
    value: /[+#]/.test(chosen) ? "" : chosen,
    placeholder: "Hall/1/temp",
    autocomplete: "off",
    spellcheck: "false",
  });
  const answer = h("div", { role: "status" });
  const ask = (event) => {
    event.preventDefault();
    scope.run(
      async () => {
        const said = await get("/explain", { user: user.value.trim(), topic: topic.value.trim() }, scope.signal);
        fill(answer, h("pre", { class: "code", tabindex: "0" }, said.explanation));
      },
      (error) => fill(answer, trouble(error)),
    );
  };
  return card(
    "Why?",
    h(
      "form",
      { class: "form", on: { submit: ask } },
      field("User", user),
      field("Topic", topic),
      h("button", { class: "button", type: "submit" }, "Explain"),
      answer,
    ),
    { text: "What a user gets of a topic, and which rule says so." },
  );
}
