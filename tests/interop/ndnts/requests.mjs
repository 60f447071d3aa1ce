// How a peer is told what to do: one JSON request a line on stdin, one JSON answer a line on stdout.
//
//     {"id": 1, "verb": "connect", "args": {"face": "a", "uri": "unix:///tmp/node.sock"}}
//     {"id": 1, "result": {"local": true}}      or      {"id": 1, "error": "what went wrong"}
//
// The peer says {"ready": true} first and ends when stdin does. Bytes travel as hex, names as URIs.

import readline from "node:readline";

function say(message) {
  const plain = (_, value) => (typeof value === "bigint" ? Number(value) : value);
  process.stdout.write(`${JSON.stringify(message, plain)}\n`);
}

export function takeRequests(verbs) {
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
}
