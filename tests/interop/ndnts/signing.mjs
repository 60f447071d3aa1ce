// Keys, certificates and signatures of @ndn/keychain. Keys are called by the word the test gave them.

import { consume, produce } from "@ndn/endpoint";
import {
  Certificate, CertNaming, createVerifier, ECDSA, Ed25519, generateSigningKey, HMAC, RSA, SigningAlgorithmListFull,
} from "@ndn/keychain";
import { Component, Data, Interest, ValidityPeriod } from "@ndn/packet";
import { Decoder, Encoder } from "@ndn/tlv";
import { fromHex } from "@ndn/util";
import { faceOf } from "./faces.mjs";
import { hex, told } from "./told.mjs";

const algorithms = { ecdsa: ECDSA, ed25519: Ed25519, rsa: RSA, hmac: HMAC };
const keys = new Map();

export function signerOf(word) {
  return keys.get(word).signer;
}

export function verifierOf({ certificate, key }) {
  return key ? keys.get(key).verifier : createVerifier(read(certificate), { algoList: SigningAlgorithmListFull });
}

function read(certificate) {
  return Certificate.fromData(Decoder.decode(fromHex(certificate), Data));
}

function write(certificate) {
  return hex(Encoder.encode(certificate.data));
}

// Make a key; one with a certificate of its own, unless it is a shared secret.
async function make_key({ key, kind, subject, secret }) {
  const options = secret ? { importRaw: fromHex(secret) } : {};
  const [privateKey, publicKey] = await generateSigningKey(subject, algorithms[kind], options);
  if (secret) {
    keys.set(key, { signer: privateKey, verifier: publicKey });
    return { name: `${privateKey.name}` };
  }
  const certificate = await Certificate.selfSign({ privateKey, publicKey });
  keys.set(key, { signer: privateKey, verifier: publicKey, publicKey });
  return { name: `${privateKey.name}`, certificate: write(certificate) };
}

// Certify one key by another; from then on the first signs under the name of its certificate.
async function certify({ key, issuer }) {
  const held = keys.get(key);
  const certificate = await Certificate.issue({
    publicKey: held.publicKey,
    issuerPrivateKey: keys.get(issuer).signer,
    issuerId: Component.from(issuer),
    validity: ValidityPeriod.daysFromNow(1),
  });
  keys.set(key, { ...held, signer: held.signer.withKeyLocator(certificate.name), certificate });
  return { name: `${certificate.name}`, certificate: write(certificate) };
}

async function serve_certificate({ face: name, key }) {
  const face = faceOf(name);
  const { certificate } = keys.get(key);
  const prefix = CertNaming.toKeyName(certificate.name);
  const registered = face.outcomes.of("advertise", prefix).promise;
  const producer = produce(prefix, async () => certificate.data, { fw: face.fw });
  face.producers.set(`${prefix}`, { close: () => producer.close() });
  await registered;
}

// Fetch a Data and the certificates above it, and verify each, up to the anchor; returns the names from Data to anchor.
async function verify_chain({ face: name, interest, anchor }) {
  const { fw } = faceOf(name);
  const top = read(anchor);
  const chain = [];
  let data = await consume(interest, { fw });
  const first = await told(data);
  for (;;) {
    chain.push(`${data.name}`);
    const signer = data.sigInfo.keyLocator.name;
    const isTop = signer.equals(top.name) || signer.equals(CertNaming.toKeyName(top.name));
    const certificate = isTop ? top : Certificate.fromData(await consume(new Interest(signer, Interest.CanBePrefix), { fw }));
    certificate.checkValidity();
    await (await createVerifier(certificate, { algoList: SigningAlgorithmListFull })).verify(data);
    if (isTop) {
      return { ...first, chain: [...chain, `${top.name}`] };
    }
    data = certificate.data;
  }
}

export const verbs = { make_key, certify, serve_certificate, verify_chain };
