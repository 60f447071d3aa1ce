// NDNts as the peer for SafeBags. The passphrase is the first line of stdin, everything else is base64.
//   import        reads a SafeBag from stdin, signs a Data with the key in it, prints the Data
//   export KIND   makes a key and its certificate, prints them as a SafeBag

import "./node20.mjs";

import { generateKeyPairSync } from "node:crypto";
import { text } from "node:stream/consumers";

const { Certificate, CryptoAlgorithmListFull, ECDSA, generateSigningKey, KeyChain, RSA } = await import("@ndn/keychain");
const { SafeBag } = await import("@ndn/ndnsec");
const { Data, Name } = await import("@ndn/packet");
const { Decoder, Encoder } = await import("@ndn/tlv");

const [passphrase, ...rest] = (await text(process.stdin)).split("\n");
const print = (packet) => console.log(Buffer.from(Encoder.encode(packet)).toString("base64"));

async function importBag() {
  const bag = Decoder.decode(Buffer.from(rest.join(""), "base64"), SafeBag);
  const keys = KeyChain.createTemp(CryptoAlgorithmListFull);
  await bag.saveKeyPair(passphrase, keys);
  await keys.insertCert(bag.certificate);
  const signer = await keys.getSigner(bag.certificate.name);
  const data = new Data("/signed/by/ndnts", Uint8Array.of(72, 105));
  await signer.sign(data);
  print(data);
}

async function exportBag(kind) {
  const [algorithm, type, options] = {
    ecdsa: [ECDSA, "ec", { namedCurve: "P-256" }],
    rsa: [RSA, "rsa", { modulusLength: 2048 }],
  }[kind];
  const pair = generateKeyPairSync(type, {
    ...options,
    privateKeyEncoding: { type: "pkcs8", format: "der" },
    publicKeyEncoding: { type: "spki", format: "der" },
  });
  const importPkcs8 = [pair.privateKey, pair.publicKey];
  const [privateKey, publicKey] = await generateSigningKey(new Name("/alice"), algorithm, { importPkcs8 });
  const certificate = await Certificate.selfSign({ privateKey, publicKey });
  print(await SafeBag.create(certificate, pair.privateKey, passphrase));
}

await (process.argv[2] === "import" ? importBag() : exportBag(process.argv[3]));
