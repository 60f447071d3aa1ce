// NDNts as the peer for SafeBags: `import` reads one from stdin and signs with its key; `export` makes one and prints it.
// stdin and stdout are lines of base64; the passphrase comes on the first line of stdin.
import { createInterface } from "node:readline/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

Promise.withResolvers ??= () => {
  let resolve, reject;
  const promise = new Promise((yes, no) => { resolve = yes; reject = no; });
  return { promise, resolve, reject };
};

// Packages stand in node_modules of the working directory, which is not where this file is while developing.
const require = createRequire(pathToFileURL(`${process.cwd()}/package.json`));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { SafeBag } = await load("@ndn/ndnsec").catch(() => ({}));
const keychain = await load("@ndn/keychain");
const { Data, digestSigning } = await load("@ndn/packet");
const { Decoder, Encoder } = await load("@ndn/tlv");

const lines = createInterface({ input: process.stdin });
const input = [];
for await (const line of lines) {
  input.push(line);
}
const [passphrase, ...rest] = input;
const print = (tlv) => console.log(Buffer.from(Encoder.encode(tlv)).toString("base64"));
const Bag = SafeBag ?? keychain.SafeBag;

if (process.argv[2] === "import") {
  const wire = Buffer.from(rest.join(""), "base64");
  const bag = Decoder.decode(wire, Bag);
  const chain = keychain.KeyChain.createTemp();
  await bag.saveKeyPair(passphrase, chain);
  const name = bag.certificate.name;
  await chain.insertCert(bag.certificate);
  const signer = await chain.getSigner(name);
  const data = new Data("/signed/by/ndnts", Uint8Array.of(0x48, 0x49));
  await signer.sign(data);
  print(data);
} else {
  const chain = keychain.KeyChain.createTemp();
  const algo = { ecdsa: keychain.ECDSA, rsa: keychain.RSASSA_PKCS1_v1_5 ?? keychain.RSA, ed25519: keychain.Ed25519 }[process.argv[3]];
  const name = new Data("/alice").name;
  const [privateKey, publicKey] = await keychain.generateSigningKey(chain, name, algo);
  const certificate = await keychain.Certificate.selfSign({ privateKey, publicKey });
  await chain.insertCert(certificate);
  const pair = await chain.getKeyPair(privateKey.name);
  print(await Bag.create(certificate, await exportable(chain, privateKey.name), passphrase));
}
