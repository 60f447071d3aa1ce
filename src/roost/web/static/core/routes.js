// The views and their addresses: #/streams/Campus/Hall/temp?range=1h is the view `streams` of that name.

/** In the order of the navigation. A view without a label is reached from another, whose mark it keeps. */
export const VIEWS = {
  "": { label: "Campus", icon: "campus", load: () => import("../views/campus.js") },
  streams: { label: "Streams", icon: "streams", load: () => import("../views/streams.js") },
  stream: { mark: "streams", load: () => import("../views/stream.js") },
  passport: { mark: "streams", load: () => import("../views/passport.js") },
  macros: { label: "Macros", icon: "macros", load: () => import("../views/macros.js") },
  macro: { mark: "macros", load: () => import("../views/macro.js") },
  roles: { label: "Roles", icon: "roles", load: () => import("../views/roles.js") },
  pipelines: { label: "Pipelines", icon: "pipelines", load: () => import("../views/pipelines.js") },
  network: { label: "Network", icon: "network", load: () => import("../views/network.js") },
  alerts: { label: "Alerts", icon: "alerts", load: () => import("../views/alerts.js") },
  demo: { label: "Break something", icon: "demo", feature: "demo", load: () => import("../views/demo.js") },
};
const ONE_OF = { streams: "stream", macros: "macro" };

/** Read an address: {view, name, parameters}. */
export function readHash(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [head, ...rest] = path.split("/");
  const name = rest.map(decoded).join("/");
  const view = name && ONE_OF[head] ? ONE_OF[head] : head;
  return { view: view in VIEWS ? view : null, name, parameters: new URLSearchParams(search) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function encoded(name) {
  return name.replace(/^\//, "").split("/").map(encodeURIComponent).join("/");
}

function withParameters(path, parameters) {
  const search = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== null && value !== ""));
  return search.size ? `${path}?${search}` : path;
}

export const to = {
  stream: (stream) => `#/streams/${encoded(stream)}`,
  streams: (parameters = {}) => withParameters("#/streams", parameters),
  passport: (stream, number) => withParameters("#/passport", { stream, number }),
  macro: (name) => `#/macros/${encoded(name)}`,
  newMacro: () => "#/macros?new=1",
  roles: (topic = "") => withParameters("#/roles", { topic }),
};
