// The passport of a reading: what it says, who signed it and why that counts, what it was made of, and who keeps it.

import { get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import * as format from "../core/format.js";
import { to } from "../core/routes.js";
import { card, facts, field, head, table, tag } from "../parts/frame.js";
import { showTree } from "../parts/lineage.js";
import { icon } from "../parts/icons.js";
import { empty, trouble, waiting } from "../parts/notice.js";

const DEPTH = 4;
const VERDICTS = {
  trusted: {
    kind: "right",
    sign: "seal",
    title: "Trusted",
    text: "The signature is right, and the rules of this node let this key sign this name.",
  },
  refused: { kind: "wrong", sign: "warning", title: "Refused", text: "This node does not act on this reading." },
  unverified: {
    kind: "warning",
    sign: "question",
    title: "Not verified",
    text: "This node could not find out whether the signature counts.",
  },
};

export async function show({ scope, parameters }) {
  const stream = parameters.get("stream") ?? "";
  const number = parameters.get("number") ?? "";
  if (!stream || !number) return search();
  const passport = await get("/passport", { stream, number }, scope.signal);
  const tree = h("div", {}, waiting("Following where it comes from…"));
  const follow = () =>
    scope.run(
      async () => showTree(tree, passport, await get("/lineage", { stream, number, depth: DEPTH }, scope.signal)),
      (error) => fill(tree, trouble(error, follow)),
    );
  follow();
  const { first, last } = (await scope.run(() => get(`/streams/${format.path(stream)}`, {}, scope.signal))) ?? {};
  const step = (label, other) => h("a", { class: "button slim", href: to.passport(stream, other) }, label);
  const at = Number(number);
  return h(
    "div",
    {},
    head(`Passport of reading ${number}`, stream, {
      trail: [
        ["Streams", "#/streams"],
        [format.tail(stream, 2), to.stream(stream)],
      ],
      actions: [
        at > (first ?? 1) ? step("‹ Before", at - 1) : null,
        at < (last ?? 0) ? step("Next ›", at + 1) : null,
      ],
    }),
    verdict(passport),
    h(
      "div",
      { class: "columns below" },
      h("div", { class: "half stack" }, reading(passport), keepers(passport)),
      h(
        "div",
        { class: "half stack" },
        chain(passport),
        card("Lineage", tree, { text: "From this reading back to those that sensors made." }),
      ),
    ),
  );
}

function search() {
  const stream = h("input", {
    id: "passport-stream",
    required: true,
    placeholder: "/Campus/Hall/Raw/Panel1/room1/temp",
    spellcheck: "false",
  });
  const number = h("input", {
    id: "passport-number",
    required: true,
    inputmode: "numeric",
    pattern: "[0-9]+",
    placeholder: "1",
  });
  const go = (event) => {
    event.preventDefault();
    location.hash = to.passport(stream.value.trim(), number.value.trim());
  };
  return h(
    "div",
    {},
    head("Passport of a reading", "Say which reading, or choose one in the table of a stream."),
    card(
      null,
      h(
        "form",
        { class: "row", on: { submit: go } },
        field("Stream", stream),
        field("Number", number),
        h("button", { class: "button first", type: "submit" }, "Show"),
      ),
    ),
  );
}

function verdict(passport) {
  const known = VERDICTS[passport.verdict] ?? VERDICTS.unverified;
  return h(
    "div",
    { class: `notice verdict ${known.kind}` },
    icon(known.sign, 36),
    h(
      "div",
      {},
      h("strong", {}, known.title),
      h("p", {}, passport.reason || known.text),
      passport.rule ? h("p", { class: "small" }, "Rule: ", h("code", {}, passport.rule)) : null,
    ),
    h(
      "span",
      { class: "big-value" },
      passport.sealed && passport.value === null ? "sealed" : format.valueWithUnit(passport.value, passport.unit),
    ),
  );
}

function reading(passport) {
  const delay = passport.received ? format.ms(passport.received) - format.ms(passport.time) : null;
  return card(
    "Reading",
    facts([
      ["Name", h("span", { class: "mono small" }, passport.name)],
      ["Value", passport.value === null ? "" : format.valueWithUnit(passport.value, passport.unit)],
      ["Details", format.details(passport.value)],
      ["Quality", passport.quality || "good"],
      ["Measured", format.when(format.ms(passport.time))],
      [
        "Arrived",
        passport.received
          ? `${format.when(format.ms(passport.received))}${delay >= 0 ? `, ${format.span(delay)} later` : ""}`
          : "",
      ],
      ["Format", formatName(passport.format)],
      ["Size", passport.size_bytes ? format.bytes(passport.size_bytes) : ""],
      [
        "Sealed",
        passport.sealed
          ? tag("only those with the key can read it", "accent", "lock")
          : "no, it can be read by all who may read the stream",
      ],
      [
        "Signature",
        h(
          "span",
          {},
          passport.signature?.type ?? "none",
          " ",
          passport.signature
            ? tag(
                passport.signature.valid ? "right" : "wrong",
                passport.signature.valid ? "good" : "bad",
                passport.signature.valid ? "check" : "cross",
              )
            : null,
        ),
      ],
      ["Digest", passport.digest ? h("span", { class: "mono small" }, passport.digest) : ""],
    ]),
  );
}

/** A content format by its number in the registry of CoAP. */
function formatName(number) {
  const names = { 0: "text", 42: "bytes", 50: "JSON", 60: "CBOR", 110: "SenML JSON", 112: "SenML CBOR" };
  if (number === null || number === undefined) return "";
  return names[number] ? `${names[number]} (${number})` : String(number);
}

function chain(passport) {
  const steps = passport.chain ?? [];
  return card(
    "Who signed it",
    steps.length
      ? h(
          "ol",
          { class: "chain" },
          steps.map((each, index) => link(each, index, steps.length)),
        )
      : empty(
          "No certificates",
          passport.signer
            ? `It is signed by ${passport.signer}, whose certificate is not here.`
            : "It carries no signature.",
        ),
    {
      text: "From the key that signed the reading up to the anchor that this node trusts.",
    },
  );
}

function link(certificate, index, length) {
  const isGood = certificate.verdict === "trusted";
  const place = index === length - 1 ? "Anchor" : index === 0 ? "Signed the reading" : "Vouches for the key above";
  const span = certificate.not_after ? `valid until ${format.when(format.ms(certificate.not_after))}` : "";
  return h(
    "li",
    { class: isGood ? "good" : "bad" },
    h("span", { class: "small soft" }, place),
    h("span", { class: "mono small" }, certificate.name),
    h("span", { class: "small soft" }, span),
    isGood ? tag("trusted", "good", "check") : tag("refused", "bad", "cross"),
    certificate.reason ? h("p", { class: "small" }, certificate.reason) : null,
  );
}

function keepers({ repos = [] }) {
  if (!repos.length) return card("Who keeps it", empty("No repo is known", "It is kept where it was published."));
  const word = (holds) =>
    holds === true
      ? tag("has it", "good", "check")
      : holds === false
        ? tag("not yet", "warn", "warning")
        : tag("not known", "", "question");
  return card(
    "Who keeps it",
    table(
      [
        ["Repo", (each) => h("span", { class: "mono small" }, each.name)],
        ["Holds it", (each) => word(each.holds), "whole"],
      ],
      repos,
      { label: "Repos" },
    ),
    { flush: true },
  );
}
