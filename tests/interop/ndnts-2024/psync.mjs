// PSync by @ndn/psync, full and partial, told what to do as in ../ndnts/requests.mjs.

import "../ndnts/node20.mjs";
import { Forwarder } from "@ndn/fw";
import { generateSigningKey, HMAC } from "@ndn/keychain";
import { L3Face } from "@ndn/l3face";
import { enableNfdPrefixReg } from "@ndn/nfdmgmt";
import { UnixTransport } from "@ndn/node-transport";
import { digestSigning, Name } from "@ndn/packet";
import { FullSync, IBLT, makePSyncCompatParam, PartialPublisher, PartialSubscriber, PSyncZlib } from "@ndn/psync";
import { fromHex, toHex } from "@ndn/util";
import { addMember, Member, verbs as members } from "../ndnts/members.mjs";
import { takeRequests } from "../ndnts/requests.mjs";

const SYNC_INTERVAL_MS = [200, 300]; // its own, 600 to 1000, costs the tests time

// A logical forwarder with one uplink, and what tells when the next registration is through, or taken back.
async function connect(uri) {
  const fw = Forwarder.create();
  const uplink = fw.addFace(new L3Face(await UnixTransport.connect(new URL(uri).pathname), { advertiseFrom: false }));
  uplink.addRoute("/");
  const registration = enableNfdPrefixReg(uplink);
  const next = (verb) => {
    const { promise, resolve, reject } = Promise.withResolvers();
    const carryOut = registration[verb];
    registration[verb] = (...args) => {
      registration[verb] = carryOut;
      const outcome = carryOut.apply(registration, args);
      outcome.then(resolve, reject);
      return outcome;
    };
    return promise;
  };
  return { fw, next };
}

function parametersFor({ expected, compressed }) {
  const codec = compressed ? { ibltCompression: PSyncZlib, contentCompression: PSyncZlib } : {};
  return makePSyncCompatParam({ expectedEntries: expected, ...codec });
}

// Its own replies carry a digest whatever signer it is given: @ndn/segmented-object signs first. What it verifies can be
// chosen: a shared secret, else the digest.
async function verifierFor(secret) {
  if (!secret) {
    return digestSigning;
  }
  const [, verifier] = await generateSigningKey("/shared/KEY/1", HMAC, { importRaw: fromHex(secret) });
  return verifier;
}

// Whoever serves the prefix of a group is there when it is registered, and gone when that is taken back.
async function serve(name, { fw, next }, make) {
  const registered = next("doAdvertise");
  const sync = make();
  const member = new Member({
    node: (stream) => sync.add(new Name(stream)),
    async close() {
      const withdrawn = next("doWithdraw");
      sync.close();
      await withdrawn;
      fw.close();
    },
  });
  sync.addEventListener("update", (update) => member.learn(update));
  addMember(name, member);
  await registered;
}

// Full sync: every member is equal.
async function join({ member: name, uri, group, secret, ...parameters }) {
  const face = await connect(uri);
  const verifier = await verifierFor(secret);
  await serve(name, face, () => new FullSync({
    p: parametersFor(parameters),
    syncPrefix: new Name(group),
    cpOpts: { fw: face.fw },
    syncInterestInterval: SYNC_INTERVAL_MS,
    verifier,
  }));
}

// Partial sync, the side that publishes.
async function provide({ member: name, uri, group, ...parameters }) {
  const face = await connect(uri);
  await serve(name, face, () => new PartialPublisher({
    p: parametersFor(parameters),
    syncPrefix: new Name(group),
    pOpts: { fw: face.fw },
  }));
}

// Partial sync, the side that subscribes: to streams that the publisher has, of which its first answer tells the numbers.
async function subscribe({ member: name, uri, group, streams, secret, ...parameters }) {
  const { fw } = await connect(uri);
  const verifier = await verifierFor(secret);
  const sync = new PartialSubscriber({
    p: parametersFor(parameters),
    syncPrefix: new Name(group),
    cOpts: { fw },
    syncInterestInterval: SYNC_INTERVAL_MS,
    verifier,
  });
  const member = new Member({
    close() {
      sync.close();
      fw.close();
    },
  });
  addMember(name, member);
  const greeted = Promise.withResolvers();
  sync.addEventListener("state", ({ topics }) => greeted.resolve(topics), { once: true });
  const wanted = new Set(streams.map((stream) => new Name(stream).valueHex));
  for (const { prefix, seqNum } of await greeted.promise) {
    if (wanted.has(prefix.valueHex)) {
      sync.subscribe({ prefix, seqNum }).addEventListener("update", (update) => member.learn(update));
      if (seqNum > 0) {
        member.learn({ id: prefix, loSeqNum: 1, hiSeqNum: seqNum });
      }
    }
  }
}

// What goes into names and content for these streams, uncompressed: the table of a set, and the set itself.
function sketch({ streams, expected }) {
  const p = parametersFor({ expected });
  const state = streams.map(({ name, high }) => ({ prefix: new Name(name), seqNum: high }));
  const table = new IBLT(p.iblt);
  for (const element of state) {
    table.insert(p.joinPrefixSeqNum(element).hash);
  }
  return { table: toHex(table.serialize()), state: toHex(p.encodeState(state)) };
}

takeRequests({ ...members, join, provide, subscribe, sketch });
