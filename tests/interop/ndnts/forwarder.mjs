// A forwarder that is not ours: @ndn/fw behind a Unix or TCP socket. NDNts has no management of its own, so rib/register
// and rib/unregister are answered here, with its codec, as NFD would.

import fs from "node:fs";
import { once } from "node:events";
import net from "node:net";
import { produce } from "@ndn/endpoint";
import { Forwarder } from "@ndn/fw";
import { L3Face, StreamTransport } from "@ndn/l3face";
import { ControlParameters, ControlResponse } from "@ndn/nfdmgmt";
import { Data, digestSigning, Interest, Name } from "@ndn/packet";
import { Decoder, Encoder } from "@ndn/tlv";

const MANAGEMENT = new Name("/localhost/nfd/rib");
const listening = new Map();

// Carry out a command for the face it comes from: packet events tell the face, producers do not.
function takeCommand({ face, packet: { l3 } }) {
  if (!(l3 instanceof Interest) || !MANAGEMENT.isPrefixOf(l3.name)) {
    return;
  }
  const { name } = Decoder.decode(l3.name.get(4).value, ControlParameters);
  if (l3.name.get(3).text === "register") {
    face.addRoute(name);
  } else {
    face.removeRoute(name);
  }
}

async function answerCommand(interest) {
  const parameters = Decoder.decode(interest.name.get(4).value, ControlParameters);
  const body = new ControlParameters({ name: parameters.name, faceId: 300, origin: 0, cost: 0, flags: 1 });
  return new Data(interest.name, Data.FreshnessPeriod(1000), Encoder.encode(new ControlResponse(200, "OK", body)));
}

async function listen({ forwarder: name, uri }) {
  const fw = Forwarder.create();
  fw.addEventListener("pktrx", takeCommand);
  produce(MANAGEMENT, answerCommand, { fw, dataSigner: digestSigning });
  const sockets = new Set();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    fw.addFace(new L3Face(new StreamTransport(socket, { describe: "client", local: true })));
  });
  const { protocol, hostname, port, pathname } = new URL(uri);
  if (protocol === "unix:") {
    fs.rmSync(pathname, { force: true });
    server.listen(pathname);
  } else {
    server.listen(Number(port), hostname);
  }
  await once(server, "listening");
  listening.set(name, { fw, server, sockets });
  return protocol === "unix:" ? uri : `tcp4://${hostname}:${server.address().port}`;
}

async function stop_listening({ forwarder: name }) {
  const { fw, server, sockets } = listening.get(name);
  listening.delete(name);
  for (const socket of sockets) {
    socket.destroy();
  }
  server.close();
  await once(server, "close");
  fw.close();
}

export const verbs = { listen, stop_listening };
