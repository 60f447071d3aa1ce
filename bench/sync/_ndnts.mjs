// The PSync dataset of NDNts, timed in batches: one JSON request per line in, one JSON answer per line out.
// The argument is the folder of the npm packages. Times are nanoseconds per call.

import path from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const load = (file) => import(pathToFileURL(path.resolve(process.argv[2], "@ndn", file)).href);
const { Name } = await load("packet/lib/mod_node.js");
const { IBLT, makePSyncCompatParam } = await load("psync/lib/mod_node.js");
const { PSyncCore } = await load("psync/lib/psync/core_node.js"); // the dataset under FullSync, which is not exported

let core;
let nodes = [];
let indexes = new Map();
let tables = [];

// What FullSync does with a received table: read it, subtract it, look up what we have more.
function difference(raw) {
  const received = new IBLT(core.ibltParams);
  received.deserialize(raw);
  const { success, positive } = core.iblt.diff(received);
  const found = [];
  for (const key of positive) {
    found.push(core.keys.get(key));
  }
  return { success, found };
}

function timed(count, call) {
  const began = process.hrtime.bigint();
  for (let i = 0; i < count; ++i) {
    call(i);
  }
  return Number(process.hrtime.bigint() - began) / count;
}

const requests = {
  // A new dataset of these streams, all at the same number; answers with the whole table.
  fill({ streams, expected, number }) {
    core = new PSyncCore(makePSyncCompatParam({ expectedEntries: expected }));
    nodes = streams.map((uri) => core.add(new Name(uri)));
    for (const node of nodes) {
      node.seqNum = number;
    }
    indexes = new Map(nodes.map((node, index) => [node, index]));
    return Buffer.from(core.iblt.serialize()).toString("hex");
  },
  // Received tables; answers with the streams found for each, none where this library cannot tell.
  tables({ received }) {
    tables = received.map((hex) => Buffer.from(hex, "hex"));
    return tables.map((raw) => {
      const { success, found } = difference(raw);
      return success ? found.map((node) => indexes.get(node)) : [];
    });
  },
  difference({ calls }) {
    return timed(calls, (i) => difference(tables[i % tables.length]));
  },
  // One publication of each of these streams.
  update({ streams }) {
    return timed(streams.length, (i) => { nodes[streams[i]].seqNum += 1; });
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { request, ...parameters } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(requests[request](parameters))}\n`);
}
