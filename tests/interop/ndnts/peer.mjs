// NDNts as a peer of the tests: one JSON request a line on stdin, one JSON answer a line on stdout.
//
//     {"id": 1, "verb": "connect", "args": {"face": "a", "uri": "unix:///tmp/node.sock"}}
//     {"id": 1, "result": {"local": true}}      or      {"id": 1, "error": "what went wrong"}
//
// It says {"ready": true} first and ends when stdin does. Bytes travel as hex, names as URIs.

import "./node20.mjs";
import readline from "node:readline";
import { verbs as exchange } from "./exchange.mjs";
import { verbs as faces } from "./faces.mjs";
import { verbs as forwarder } from "./forwarder.mjs";
import { verbs as management } from "./management.mjs";
import { verbs as objects } from "./objects.mjs";
import { verbs as signing } from "./signing.mjs";

const verbs = { ...faces, ...exchange, ...objects, ...signing, ...management, ...forwarder };

function say(message) {
  const plain = (_, value) => (typeof value === "bigint" ? Number(value) : value);
  process.stdout.write(`${JSON.stringify(message, plain)}\n`);
}

const requests = readline.createInterface({ input: process.stdin });
requests.on("line", async (line) => {
  const { id, verb, args } = JSON.parse(line);
  try {
    if (!Object.hasOwn(verbs, verb)) {
      throw new Error(`there is no verb ${verb}`);
    }
    say({ id, result: (await verbs[verb](args)) ?? null });
  } catch (err) {
    say({ id, error: err?.stack ?? String(err) });
  }
});
requests.on("close", () => process.exit(0));
say({ ready: true });
