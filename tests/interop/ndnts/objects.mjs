// Segmented objects by @ndn/segmented-object, found by version discovery or by RDR metadata (@ndn/rdr).

import { Name } from "@ndn/packet";
import { retrieveMetadata, serveMetadata } from "@ndn/rdr";
import { BufferChunkSource, discoverVersion, fetch, serveVersioned } from "@ndn/segmented-object";
import { fromHex } from "@ndn/util";
import { faceOf } from "./faces.mjs";
import { signerOf, verifierOf } from "./signing.mjs";
import { hex } from "./told.mjs";

async function serve_object({ face: name, prefix, content, segment_bytes, version, key }) {
  const face = faceOf(name);
  const registered = face.outcomes.of("advertise", prefix).promise;
  const server = serveVersioned(prefix, new BufferChunkSource(fromHex(content), { chunkSize: segment_bytes }), {
    version,
    signer: key && signerOf(key),
    pOpts: { fw: face.fw },
  });
  const metadata = serveMetadata({ name: server.prefix, encodeTo: (encoder) => encoder.prependValue(server.prefix) }, {
    prefix: Name.from(prefix),
    signer: key && signerOf(key),
    pOpts: { fw: face.fw, announcement: false },
  });
  face.producers.set(prefix, {
    close() {
      server.close();
      metadata.close();
    },
  });
  await registered;
  return `${server.prefix}`;
}

async function fetch_object({ face: name, object, discover, verify }) {
  const { fw } = faceOf(name);
  const verifier = verify && await verifierOf(verify);
  const cOpts = { fw, verifier, retx: 2 };
  const start = new Name(object);
  let versioned = start;
  if (discover === "rdr") {
    versioned = (await retrieveMetadata(start, cOpts)).name;
  } else if (discover === "prefix") {
    versioned = await discoverVersion(start, { cOpts });
  }
  const fetching = fetch(versioned, { cOpts });
  const content = await fetching;
  return { versioned: `${versioned}`, content: hex(content), segments: fetching.count };
}

export const verbs = { serve_object, fetch_object };
