// Single Interests and Data: producers with a registered prefix, consumers that also report Nacks.

import { consume as ask, produce as answer } from "@ndn/endpoint";
import { PrefixAnn } from "@ndn/nfdmgmt";
import { Data, digestSigning, Interest, Nack } from "@ndn/packet";
import { fromHex } from "@ndn/util";
import { faceOf } from "./faces.mjs";
import { signerOf, verifierOf } from "./signing.mjs";
import { told } from "./told.mjs";

async function produce({ face: name, prefix, content, freshness_ms = 1000, key, announce_ms }) {
  const face = faceOf(name);
  const signer = key ? signerOf(key) : digestSigning;
  const announcement = announce_ms && await PrefixAnn.build({ announced: prefix, expirationPeriod: announce_ms, signer });
  const registered = face.outcomes.of("advertise", prefix).promise;
  let asked = 0;
  const producer = answer(prefix, async (interest) => {
    ++asked;
    return new Data(interest.name, Data.FreshnessPeriod(freshness_ms), fromHex(content));
  }, { fw: face.fw, dataSigner: signer, ...(announcement && { announcement }) });
  face.producers.set(prefix, { close: () => producer.close(), asked: () => asked });
  await registered;
}

async function withdraw({ face: name, prefix }) {
  const { outcomes, producers } = faceOf(name);
  const withdrawn = outcomes.of("withdraw", prefix).promise;
  producers.get(prefix).close();
  producers.delete(prefix);
  await withdrawn;
}

// How many Interests a producer has seen.
function asked({ face: name, prefix }) {
  return faceOf(name).producers.get(prefix).asked();
}

async function consume({
  face: name, interest: uri, can_be_prefix, must_be_fresh, lifetime_ms = 4000, hop_limit, parameters, verify,
}) {
  const { fw } = faceOf(name);
  const interest = new Interest(uri, Interest.Lifetime(lifetime_ms));
  interest.canBePrefix = !!can_be_prefix;
  interest.mustBeFresh = !!must_be_fresh;
  if (hop_limit !== undefined) {
    interest.hopLimit = hop_limit;
  }
  if (parameters !== undefined) {
    interest.appParameters = fromHex(parameters);
    await interest.updateParamsDigest();
  }
  const verifier = verify && await verifierOf(verify);
  const gaveUp = new AbortController();
  const nacked = Promise.withResolvers();
  const watch = ({ packet: { l3 } }) => {
    if (l3 instanceof Nack && l3.interest.name.equals(interest.name)) {
      nacked.resolve({ nack: l3.reason });
    }
  };
  fw.addEventListener("pktrx", watch); // the forwarder of NDNts ignores Nacks
  try {
    const data = ask(interest, { fw, verifier, signal: gaveUp.signal });
    return await Promise.race([data.then(told), nacked.promise]);
  } catch (err) {
    if (/rejected: expire/.test(err.message)) {
      return { timed_out: true };
    }
    throw err;
  } finally {
    fw.removeEventListener("pktrx", watch);
    gaveUp.abort();
  }
}

export const verbs = { produce, withdraw, asked, consume };
