// State Vector Sync by @ndn/svs, versions 2 and 3, told what to do as in requests.mjs.

import "./node20.mjs";
import { digestSigning, Name, noopSigning, nullSigner } from "@ndn/packet";
import { SvSync } from "@ndn/svs";
import { faceOf, verbs as faces } from "./faces.mjs";
import { addMember, Member, verbs as members } from "./members.mjs";
import { takeRequests } from "./requests.mjs";
import { signerOf, verbs as signing, verifierOf } from "./signing.mjs";

// Sync Interests (v2) or the Data in them (v3) are signed with a key that the test made, or by one of these.
const keyless = {
  null: { signer: nullSigner, verifier: noopSigning },
  digest: { signer: digestSigning, verifier: digestSigning },
};

// Join a group over a face of its own; done when the prefix of the group is registered.
async function join({ member: name, uri, group, version, key = "null", period_ms = 30000 }) {
  await faces.connect({ face: name, uri });
  const { fw, outcomes } = faceOf(name);
  const registered = outcomes.of("advertise", group).promise;
  const sync = await SvSync.create({
    fw,
    syncPrefix: new Name(group),
    svs3: version === 3,
    periodicTimeout: period_ms,
    suppressionPeriod: 200, // its own default is ten times what the specification says
    ...(keyless[key] ?? { signer: signerOf(key), verifier: verifierOf({ key }) }),
  });
  const member = new Member({
    node: (stream, boot) => (boot ? sync.get(stream, boot) : sync.get(stream)),
    async close() {
      const withdrawn = outcomes.of("withdraw", group).promise;
      sync.close();
      await withdrawn;
      faces.disconnect({ face: name });
    },
  });
  sync.addEventListener("update", (update) => member.learn(update));
  sync.addEventListener("rxerror", ({ detail: [, err] }) => member.refuse(err));
  addMember(name, member);
  await registered;
}

takeRequests({ ...signing, ...members, join });
