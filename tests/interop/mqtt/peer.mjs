// MQTT.js as a client of the tests; ../ndnts/requests.mjs says how it is told what to do.
//
// A client has a name here, and keeps what it hears until it is asked for it. Payloads travel as hex.

import { readFileSync } from "node:fs";
import mqtt from "mqtt";
import { takeRequests } from "../ndnts/requests.mjs";

const clients = new Map();

class Client {
  constructor(url, { files = {}, ...options }) {
    this.messages = [];
    this.waiting = null;
    const read = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, readFileSync(file)]));
    this.mqtt = mqtt.connect(url, { reconnectPeriod: 0, connectTimeout: 15_000, ...options, ...read });
    this.mqtt.on("packetreceive", (packet) => this.hear(packet));
    this.mqtt.on("packetsend", (packet) => {
      this.sent = packet.cmd === "publish" ? { topic: packet.topic, alias: packet.properties?.topicAlias } : this.sent;
    });
    this.mqtt.on("message", (topic, payload, packet) => {
      const { qos, retain, properties = {} } = packet;
      const correlationData = properties.correlationData?.toString("hex");
      this.messages.push({ topic, payload: payload.toString("hex"), qos, retain, ...properties, correlationData });
      this.give();
    });
    this.mqtt.on("error", (err) => (this.error = err));
    this.connected = new Promise((resolve) => {
      this.mqtt.once("connect", (connack) => {
        resolve({ reason: connack.reasonCode ?? connack.returnCode, present: connack.sessionPresent, ...connack.properties });
      });
      this.mqtt.once("error", (err) => resolve({ reason: err.code, error: String(err) }));
    });
    this.closed = new Promise((resolve) => {
      this.mqtt.once("close", () => resolve({ reason: this.farewell ?? null }));
    });
  }

  hear(packet) {
    if (packet.cmd === "suback") {
      this.granted = packet.granted;
    } else if (packet.cmd === "disconnect") {
      this.farewell = packet.reasonCode;
    }
  }

  give() {
    if (this.waiting && this.messages.length >= this.waiting.count) {
      this.waiting.resolve(this.messages.splice(0, this.waiting.count));
      this.waiting = null;
    }
  }

  take(count) {
    return new Promise((resolve) => {
      this.waiting = { count, resolve };
      this.give();
    });
  }
}

takeRequests({
  async connect({ name, url, options }) {
    const client = new Client(url, options);
    clients.set(name, client);
    return client.connected;
  },
  async subscribe({ name, filters, options }) {
    const client = clients.get(name);
    try {
      await client.mqtt.subscribeAsync(filters, options);
    } catch (err) {
      if (!err.packet) { // with one, the server answered, and said no to one of them
        throw err;
      }
    }
    return client.granted;
  },
  async unsubscribe({ name, filters }) {
    await clients.get(name).mqtt.unsubscribeAsync(filters);
  },
  async publish({ name, topic, payload, options }) {
    const { correlationData, ...properties } = options.properties ?? {};
    if (correlationData) {
      properties.correlationData = Buffer.from(correlationData, "hex");
    }
    const said = options.properties ? { ...options, properties } : options;
    try {
      await clients.get(name).mqtt.publishAsync(topic, Buffer.from(payload, "hex"), said);
    } catch (err) {
      if (typeof err.code === "number") {
        return err.code; // the reason that the server gave
      }
      throw err;
    }
    return 0;
  },
  async burst({ name, topic, count, window, options }) {
    // MQTT.js does not heed the server's Receive Maximum: no more than `window` are on their way.
    const { mqtt: client } = clients.get(name);
    for (let number = 0; number < count; ) {
      const some = [];
      while (number < count && some.length < window) {
        some.push(client.publishAsync(topic, `${number++}`, options));
      }
      await Promise.all(some);
    }
  },
  sent({ name }) {
    return clients.get(name).sent;
  },
  take({ name, count }) {
    return clients.get(name).take(count);
  },
  kept({ name }) {
    return clients.get(name).messages.length;
  },
  closed({ name }) {
    return clients.get(name).closed;
  },
  async end({ name, options }) {
    await clients.get(name).mqtt.endAsync(false, options ?? {});
    clients.delete(name);
  },
  async cut({ name }) {
    clients.get(name).mqtt.stream.destroy();
    await clients.get(name).closed;
    clients.delete(name);
  },
});
