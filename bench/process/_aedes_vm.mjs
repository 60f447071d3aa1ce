// The paper's arrangement: aedes with macros in Node's vm, on a free loopback port that it prints when it is ready.
//
// A macro is compiled once and run in a context of its own; what it names in a run with no values is what it depends on.
// Recent values are kept in memory, as many of a topic as its references ask for, parsed when they come.
// Arguments: the folder of npm packages, and a file of macros as JSON, which may be an empty list.
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { pathToFileURL } from "node:url";
import vm from "node:vm";

const [packages, file] = process.argv.slice(2);
const { Aedes } = await import(pathToFileURL(`${packages}/aedes/aedes.js`));
const broker = await Aedes.createBroker({ maxInflightInbound: 0 });
const recent = new Map(); // topic → {depth, values: the newest first, macros}

function parsed(payload) {
  const text = payload.toString();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

class Macro {
  constructor({ name, code }) {
    this.topic = `Noctua/${name}`;
    this.required = new Map(); // topic → how many values
    this.waiting = true; // whether one of its topics has too few values
    this.exploring = true;
    const context = vm.createContext({ Noctua: { topic: (name, options) => this.read(name, options) } });
    this.run = new vm.Script(`(() => (${code}\n))`).runInContext(context);
    try {
      this.run();
    } catch {
      // it has no values yet
    }
    this.exploring = false;
  }

  read(name, { required = 1, limit = 1 } = {}) {
    const count = Math.max(required, limit);
    if (this.exploring) {
      this.required.set(name, required);
      const series = recent.get(name) ?? { depth: 1, values: [], macros: [] };
      recent.set(name, series);
      series.depth = Math.max(series.depth, count);
      if (!series.macros.includes(this)) series.macros.push(this);
      return count > 1 ? [] : undefined;
    }
    const { values } = recent.get(name);
    return count > 1 ? values.slice(0, count) : values[0];
  }

  activated() {
    if (this.waiting) { // what is there once stays
      for (const [name, required] of this.required) if (recent.get(name).values.length < required) return;
      this.waiting = false;
    }
    const result = this.run();
    if (result === undefined) return;
    const payload = typeof result === "object" ? JSON.stringify(result) : String(result);
    broker.publish({ cmd: "publish", topic: this.topic, payload, qos: 0, retain: false });
  }
}

for (const definition of JSON.parse(readFileSync(file))) new Macro(definition);
broker.on("publish", ({ topic, payload }) => {
  const series = recent.get(topic);
  if (series === undefined) return;
  series.values.unshift(parsed(payload));
  if (series.values.length > series.depth) series.values.pop();
  for (const macro of series.macros) macro.activated();
});
const server = createServer({ noDelay: true }, broker.handle);
server.listen(0, "127.0.0.1", 1024, () => console.log(`ready ${server.address().port}`));
