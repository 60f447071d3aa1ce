// An application service: a client of a broker that works out what the macros do, in plain code, and publishes it.
// Arguments: the folder of npm packages, the broker's port, and what to do as JSON. It says when it is ready.
import { pathToFileURL } from "node:url";

const [packages, port, text] = process.argv.slice(2);
const { connectAsync } = (await import(pathToFileURL(`${packages}/mqtt/build/index.js`))).default;
const { topics, result, kind, depth, ...settings } = JSON.parse(text);
const WEIGHTS = [3, 2, 1], DENOMINATOR = 6, CELLS = 10;

const recent = new Map(topics.map(topic => [topic, []])); // the newest first
let waiting = true;

const works = {
  conversion: () => (recent.get(topics[0])[0] - 32) * 5 / 9,

  average() {
    let total = 0;
    for (const values of recent.values()) {
      let weighted = 0;
      for (let i = 0; i < WEIGHTS.length; i++) weighted += values[i] * WEIGHTS[i];
      total += weighted / DENOMINATOR;
    }
    return total / recent.size;
  },

  localization() {
    const { beacons, ETA, SIG, K, TX } = settings, readings = recent.get(topics[0])[0];
    let best = 0, where = [];
    for (let y = 5; y < 10 * CELLS; y += 10) {
      for (let x = 5; x < 10 * CELLS; x += 10) {
        let combined = 1;
        for (let b = 0; b < readings.length; b++) {
          const d = Math.sqrt((beacons[b][0] - x) ** 2 + (beacons[b][1] - y) ** 2);
          const fade = TX - readings[b] - K - 10 * ETA * Math.log10(d);
          combined *= (1 / Math.sqrt(2 * Math.PI * SIG ** 2)) * Math.exp(-(fade ** 2) / (2 * SIG ** 2));
        }
        if (combined > best) {
          best = combined;
          where = [x, y];
        }
      }
    }
    return where;
  },
};

const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { clientId: "service", keepalive: 600 });
client.on("message", (topic, payload) => {
  const values = recent.get(topic);
  values.unshift(JSON.parse(payload.toString()));
  if (values.length > depth) values.pop();
  if (waiting && [...recent.values()].some(each => each.length < depth)) return;
  waiting = false;
  const value = works[kind]();
  client.publish(result, typeof value === "object" ? JSON.stringify(value) : String(value), { qos: 0 });
});
await client.subscribeAsync(topics, { qos: 0 });
console.log("ready");
