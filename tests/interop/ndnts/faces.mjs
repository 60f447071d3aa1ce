// Faces of NDNts towards a forwarder, each with a logical forwarder of its own, so that what two of them exchange has to
// go through the node. Prefixes are registered by @ndn/nfdmgmt; the outcome of each registration can be waited for.

import { Forwarder } from "@ndn/fw";
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

function open(options, uri) {
  const { protocol, hostname, port, pathname } = new URL(uri);
  switch (protocol) {
    case "unix:": {
      return UnixTransport.createFace(options, pathname);
    }
    case "tcp4:": {
      return TcpTransport.createFace(options, hostname, Number(port));
    }
    case "udp4:": {
      return UdpTransport.createFace(options, hostname, Number(port));
    }
    case "ws:": {
      return WsTransport.createFace(options, uri);
    }
  }
  throw new Error(`${uri} is of no kind this peer can open`);
}

async function connect({ face: name, uri, mtu, announce = false }) {
  const fw = Forwarder.create();
  const errors = [];
  let largest = 0;
  const callback = (transport, l3) => {
    const send = transport.tx.bind(transport);
    transport.tx = (packets) => send((async function* measured() {
      for await (const packet of packets) {
        largest = Math.max(largest, packet.length);
        yield packet;
      }
    })());
    l3.addEventListener("rxerror", ({ detail }) => errors.push(detail.message));
    l3.addEventListener("txerror", ({ detail }) => errors.push(detail.message));
  };
  const uplink = await open({ fw, addRoutes: ["/"], lp: { mtu }, callback }, uri);
  const registration = enableNfdPrefixReg(uplink, announce ? { PrefixAnn } : {});
  const outcomes = new Outcomes();
  registration.doAdvertise = outcomes.watch("advertise", registration.doAdvertise.bind(registration));
  registration.doWithdraw = outcomes.watch("withdraw", registration.doWithdraw.bind(registration));
  faces.set(name, { fw, uplink, outcomes, errors, producers: new Map(), largest: () => largest });
  return { local: uplink.attributes.local };
}

function disconnect({ face: name }) {
  faceOf(name).fw.close();
  faces.delete(name);
}

// What went wrong on a face below the network layer, and the largest packet sent on it.
function link({ face: name }) {
  const { errors, largest } = faceOf(name);
  return { errors, largest_bytes: largest() };
}

// Wait until a prefix was registered again, after the connection was lost and came back.
async function registered({ face: name, prefix }) {
  await faceOf(name).outcomes.of("advertise", prefix).promise;
}

export const verbs = { connect, disconnect, link, registered };
