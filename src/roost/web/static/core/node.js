// What is known about the node and about who looks: asked at the start, after a login, and now and then.

import { get } from "./api.js";
import { setClock } from "./format.js";

const watchers = new Set();

export const node = { info: null };

/** Ask the node about itself; whoever it wants to know first has nothing known any more. */
export async function learn() {
  try {
    node.info = await get("/node");
    setClock(node.info.now);
  } catch (error) {
    if (error.status !== 401) throw error;
    node.info = null;
    throw error;
  } finally {
    for (const each of watchers) each(node.info);
  }
}

/** Watch what is known, null for nothing; told at once. */
export function onNode(watcher) {
  watchers.add(watcher);
  watcher(node.info);
}

/** Whether the node has a feature; what is not said is there, but for the demo. */
export function has(feature) {
  return node.info?.features?.[feature] ?? feature !== "demo";
}

/** Whether whoever looks may do something; what is not said is tried, and the node answers. */
export function may(what) {
  return node.info?.may?.[what] ?? true;
}
