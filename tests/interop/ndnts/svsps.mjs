// SVS-PS by @ndn/svs, with the names of version 2, told what to do as in requests.mjs. Items are told one by one.

import "./node20.mjs";
import { createHash } from "node:crypto";
import { digestSigning, Name, noopSigning, nullSigner } from "@ndn/packet";
import { DataArray } from "@ndn/repo-api";
import { SvPublisher, SvSubscriber, SvSync } from "@ndn/svs";
import { faceOf, verbs as faces } from "./faces.mjs";
import { takeRequests } from "./requests.mjs";

const members = new Map();

async function join({ member: name, uri, group, node, topic = "/", producer = "" }) {
  await faces.connect({ face: name, uri });
  const { fw, outcomes } = faceOf(name);
  const home = `${node}${group}`;
  const registered = [group, home].map((prefix) => outcomes.of("advertise", prefix).promise);
  const sync = await SvSync.create({
    fw,
    syncPrefix: new Name(group),
    suppressionPeriod: 200,
    signer: nullSigner,
    verifier: noopSigning,
  });
  const publisher = new SvPublisher({
    sync,
    id: new Name(node),
    store: new DataArray(),
    pOpts: { fw },
    innerSigner: digestSigning,
    outerSigner: digestSigning,
    mappingSigner: digestSigning,
  });
  const verifiers = { innerVerifier: digestSigning, outerVerifier: digestSigning, mappingVerifier: digestSigning };
  const subscriber = new SvSubscriber({ sync, cOpts: { fw }, ...verifiers });
  const items = [];
  const waiting = [];
  const errors = [];
  subscriber.addEventListener("error", ({ detail }) => errors.push(String(detail)));
  const subscription = subscriber.subscribe(producer ? { publisher: new Name(producer) } : new Name(topic));
  subscription.addEventListener("update", (item) => {
    const waiter = waiting.shift();
    waiter ? waiter(item) : items.push(item);
  });
  members.set(name, { name, sync, publisher, subscriber, items, waiting, errors });
  await Promise.all(registered);
}

function publish({ member, name, size, seed }) {
  return members.get(member).publisher.publish(new Name(name), new Uint8Array(size).fill(seed));
}

// The next item: its names, and the size and the digest of its blob.
async function next({ member }) {
  const { items, waiting } = members.get(member);
  const item = items.shift() ?? (await new Promise((resolve) => waiting.push(resolve)));
  const sha256 = createHash("sha256").update(item.payload).digest("hex");
  const plain = (name) => `${name}`.replaceAll("/8=", "/");
  return {
    name: plain(item.name),
    publisher: plain(item.publisher),
    number: item.seqNum,
    size: item.payload.length,
    sha256,
  };
}

async function leave({ member: name }) {
  const { sync, publisher, subscriber, errors } = members.get(name);
  members.delete(name);
  subscriber.close();
  await publisher.close();
  sync.close();
  faces.disconnect({ face: name });
  return errors;
}

takeRequests({ join, publish, next, leave });
