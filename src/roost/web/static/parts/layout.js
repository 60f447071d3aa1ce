// Where everything on the campus map stands: the same campus and width give the same places, always.
//
// A building is a box. In it stand, from top to bottom, who publishes (panels, gates), the groups, and who keeps them
// (repos, nodes). Each box goes into the first row that has room; those of a row share its width by what they need.

const CHIP_HEIGHT = 54;
const GAP = 12;
const LANE = 34; // between publishers, groups and keepers: links run here
const PAD = 16;
const FOOT = 26; // links between those of the last row hang into it
const TITLE = 38;
const BOX_GAP = 26;
const CHIP = { least: 116, usual: 146, most: 184 };
const AROUND = 64; // a name, in a chip
const LETTER = 7.4; // as wide as most
const ORDER = { panel: 0, gate: 0, node: 2, repo: 2 };

/** Lay out a campus: {width, height, boxes, chips: Map(key → {x, y, width, height, item, kind}), links}. */
export function layout(told, width) {
  const campus = merged(told);
  const chips = new Map();
  const boxes = [];
  let y = 0;
  for (const row of rowsOf(byBuilding(campus), width)) {
    const needed = row.reduce((sum, each) => sum + each.need, 0);
    const spare = width - (row.length - 1) * BOX_GAP - needed;
    let x = 0;
    const placed = row.map(({ name, lanes, need }) => {
      const box = { name, x, y, width: need + (spare * need) / needed };
      x += box.width + BOX_GAP;
      let foot = y + TITLE;
      for (const lane of lanes) foot = placeLane(chips, lane, box, foot) + LANE;
      return Object.assign(box, { height: foot - LANE + FOOT - y });
    });
    const height = Math.max(...placed.map((each) => each.height));
    for (const box of placed) boxes.push(Object.assign(box, { height }));
    y += height + BOX_GAP;
  }
  return { width, height: Math.max(60, y - BOX_GAP), boxes, chips, links: links(campus, chips) };
}

/** A repo that keeps several groups is told once for each; it is one thing, unless its name is in two buildings. */
function merged({ nodes, groups, links: told }) {
  const found = [];
  const places = new Map(); // of ids, where they went
  const near = (each, other) =>
    each.kind === other.kind &&
    each.name === other.name &&
    (each.building === other.building || !each.building || !other.building);
  for (const each of [...nodes].sort((a, b) => (a.building === "") - (b.building === ""))) {
    const alike = each.kind === "repo" ? found.filter((one) => near(each, one)) : [];
    const other = alike.find((one) => one.building === each.building) ?? (alike.length === 1 ? alike[0] : undefined);
    places.set(each.id, other?.id ?? each.id);
    if (other) {
      other.groups = [...new Set([...other.groups, ...(each.groups ?? [])])];
      other.health = worse(other.health, each.health);
      other.lag = other.lag === null && each.lag === null ? null : (other.lag ?? 0) + (each.lag ?? 0);
    } else found.push({ ...each, groups: each.groups ?? [] });
  }
  const place = (id) => places.get(id) ?? id;
  return { nodes: found, groups, links: told.map((each) => ({ ...each, from: place(each.from), to: place(each.to) })) };
}

function worse(a, b) {
  const order = ["ok", "unknown", "lagging", "silent"];
  return order.indexOf(a) > order.indexOf(b) ? a : b;
}

/** Buildings in rows, each as wide as its longest lane would like, if there is room. */
function rowsOf(buildings, width) {
  const rows = [];
  for (const each of buildings) {
    const longest = Math.max(...each.lanes.map((lane) => lane.length));
    const need = Math.min(width, longest * (CHIP.usual + GAP) - GAP + 2 * PAD);
    let row = rows.find((taken) => taken.reduce((sum, other) => sum + other.need + BOX_GAP, need) <= width);
    if (!row) rows.push((row = []));
    row.push({ ...each, need });
  }
  return rows;
}

function placeLane(chips, lane, box, top) {
  const inside = box.width - 2 * PAD;
  const longest = Math.max(...lane.map(({ item, kind }) => (kind === "group" ? 0 : item.name.length)));
  const wanted = Math.min(CHIP.most, AROUND + LETTER * longest, (inside - GAP) / 2); // two abreast, on a phone too
  const least = Math.max(CHIP.least, wanted);
  const across = Math.max(1, Math.floor((inside + GAP) / (least + GAP)));
  const perRow = Math.ceil(lane.length / Math.ceil(lane.length / across)); // rows are about equally long
  const width = Math.min(CHIP.most, (inside - (perRow - 1) * GAP) / perRow);
  let y = top;
  for (let index = 0; index < lane.length; index += perRow) {
    const row = lane.slice(index, index + perRow);
    let x = box.x + PAD + (inside - row.length * width - (row.length - 1) * GAP) / 2;
    for (const { key, item, kind } of row) {
      chips.set(key, { x, y, width, height: CHIP_HEIGHT, item, kind });
      x += width + GAP;
    }
    y += CHIP_HEIGHT + GAP;
  }
  return y - GAP;
}

/** Buildings in the order of their names, what belongs to the whole company last. */
function byBuilding(campus) {
  const found = new Map();
  const lanesOf = (name) => {
    if (!found.has(name)) found.set(name, [[], [], []]);
    return found.get(name);
  };
  for (const group of campus.groups)
    lanesOf(group.building ?? "")[1].push({ key: `group:${group.name}`, item: group, kind: "group" });
  for (const each of campus.nodes)
    lanesOf(each.building ?? "")[ORDER[each.kind] ?? 2].push({ key: `node:${each.id}`, item: each, kind: each.kind });
  for (const lanes of found.values()) for (const lane of lanes) lane.sort((a, b) => compare(a.key, b.key));
  return [...found]
    .sort(([a], [b]) => (a === "") - (b === "") || compare(a, b))
    .map(([name, lanes]) => ({ name, lanes: lanes.filter((each) => each.length) }));
}

function compare(a, b) {
  return a.localeCompare(b, "en", { numeric: true });
}

/** From who publishes to its groups, from groups to who keeps them, and what else was told. */
function links(campus, chips) {
  const found = [];
  const kept = new Set(campus.nodes.filter((each) => each.kind === "repo").flatMap((each) => each.groups ?? []));
  for (const each of campus.nodes) {
    const publishes = each.kind === "panel" || each.kind === "gate";
    for (const group of each.groups ?? []) {
      if (!chips.has(`group:${group}`) || (each.kind === "node" && kept.has(group))) continue;
      const [from, to] = publishes ? [`node:${each.id}`, `group:${group}`] : [`group:${group}`, `node:${each.id}`];
      found.push({ from, to, kind: publishes ? "publish" : "keep", health: each.health });
    }
  }
  const publishers = new Set(found.filter((each) => each.kind === "publish").map((each) => each.from));
  const seen = new Set();
  for (const each of campus.links) {
    const [from, to] = [end(chips, each.from), end(chips, each.to)];
    const pair = [from, to].sort().join(" ");
    if (!from || !to || from === to || seen.has(pair) || (each.kind === "publish" && publishers.has(from))) continue;
    seen.add(pair);
    found.push({ from, to, kind: each.kind, health: each.health });
  }
  return found;
}

function end(chips, id) {
  if (chips.has(`node:${id}`)) return `node:${id}`;
  return chips.has(`group:${id}`) ? `group:${id}` : null;
}
