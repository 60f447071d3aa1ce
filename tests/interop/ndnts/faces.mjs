// Faces of NDNts towards a forwarder, each with a logical forwarder of its own, so that what two of them exchange has to
// go through the node. Prefixes are registered by @ndn/nfdmgmt; the outcome of each registration can be waited for.

import { Forwarder } from "@ndn/fw";
import { L3Face } from "@ndn/l3face";
import { enableNfdPrefixReg, PrefixAnn } from "@ndn/nfdmgmt";
import { TcpTransport, UdpTransport, UnixTransport } from "@ndn/node-transport";
import { Name } from "@ndn/packet";
import { WsTransport } from "@ndn/ws-transport";

const faces = new Map();

export function faceOf(name) {
  const face = faces.get(name);
  if (!face) {
    throw new Error(`there is no face ${name}`);
  }
  return face;
}

// Promises for what happens to a prefix next, by verb and name.
class Outcomes {
  waiting = new Map();

  of(verb, name) {
    const key = `${verb} ${Name.from(name)}`;
    let settle = this.waiting.get(key);
    if (!settle) {
      settle = Promise.withResolvers();
      this.waiting.set(key, settle);
    }
    return settle;
  }

  watch(verb, carryOut) {
    return async (name, state) => {
      try {
        await carryOut(name, state);
        this.settle(verb, name).resolve();
      } catch (err) {
        this.settle(verb, name).reject(err);
        throw err;
      }
    };
  }

  settle(verb, name) {
    const settle = this.of(verb, name);
    settle.promise.catch(() => undefined); // nobody may be waiting
    this.waiting.delete(`${verb} ${Name.from(name)}`);
    return settle;
  }
}

function dial(uri) {
  const { protocol, hostname, port, pathname } = new URL(uri);
  switch (protocol) {
    case "unix:": {
      return UnixTransport.connect(pathname);
    }
    case "tcp4:": {
      return TcpTransport.connect(hostname, Number(port));
    }
    case "udp4:": {
      return UdpTransport.connect(hostname, Number(port));
    }
    case "ws:": {
      return WsTransport.connect(uri);
    }
  }
  throw new Error(`${uri} is of no kind this peer can open`);
}

// Note the largest link packet in each direction.
function measure(transport) {
  const largest = { sent: 0, received: 0 };
  const note = async function* (packets, direction, size) {
    for await (const packet of packets) {
      largest[direction] = Math.max(largest[direction], size(packet));
      yield packet;
    }
  };
  const send = transport.tx.bind(transport);
  transport.tx = (packets) => send(note(packets, "sent", (packet) => packet.length));
  transport.rx = note(transport.rx, "received", ({ tlv }) => tlv.length);
  return largest;
}

async function connect({ face: name, uri, mtu, announce = false }) {
  const fw = Forwarder.create();
  const transport = await dial(uri);
  const largest = measure(transport);
  const l3 = new L3Face(transport, { advertiseFrom: false }, { mtu });
  const errors = [];
  l3.addEventListener("rxerror", ({ detail }) => errors.push(detail.message));
  l3.addEventListener("txerror", ({ detail }) => errors.push(detail.message));
  const uplink = fw.addFace(l3);
  uplink.addRoute("/");
  const registration = enableNfdPrefixReg(uplink, announce ? { PrefixAnn } : {});
  const outcomes = new Outcomes();
  registration.doAdvertise = outcomes.watch("advertise", registration.doAdvertise.bind(registration));
  registration.doWithdraw = outcomes.watch("withdraw", registration.doWithdraw.bind(registration));
  faces.set(name, { fw, uplink, outcomes, errors, largest, producers: new Map() });
  return { local: uplink.attributes.local };
}

function disconnect({ face: name }) {
  faceOf(name).fw.close();
  faces.delete(name);
}

// What went wrong on a face below the network layer, and the size of its largest link packets.
function link({ face: name }) {
  const { errors, largest } = faceOf(name);
  return { errors, largest };
}

export const verbs = { connect, disconnect, link };
