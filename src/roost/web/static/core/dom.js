// Elements made without markup: every text of a stranger becomes a text node, so none of it can become an element.

const SVG = "http://www.w3.org/2000/svg";
const AS_PROPERTY = new Set(["value", "checked", "disabled", "selected", "indeterminate"]);

/** Make an HTML element: h("p", {class: "soft", on: {click}}, "text", element, [more], null). */
export function h(tag, props = {}, ...children) {
  return dressed(document.createElement(tag), props, children);
}

/** Make an SVG element. */
export function s(tag, props = {}, ...children) {
  return dressed(document.createElementNS(SVG, tag), props, children);
}

/** Put children in the place of what an element had. */
export function fill(element, ...children) {
  element.replaceChildren(...flat(children));
  return element;
}

/** Set a text only if it is another: live regions and the layout are left in peace. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let serial = 0;

/** A name for `id` that nothing else has. */
export function fresh(head) {
  serial += 1;
  return `${head}-${serial}`;
}

function dressed(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else if (AS_PROPERTY.has(name)) {
      element[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...flat(children));
  if ("value" in props && element.tagName === "SELECT") element.value = props.value;
  return element;
}

function flat(children) {
  return children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false);
}
