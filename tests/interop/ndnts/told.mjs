// What the tests are told about a Data.

import { toHex } from "@ndn/util";

export async function told(data) {
  return {
    name: `${data.name}`,
    content: toHex(data.content),
    digest: toHex(await data.computeImplicitDigest()),
    freshness_ms: data.freshnessPeriod,
    signature_type: data.sigInfo.type,
    key: data.sigInfo.keyLocator?.name ? `${data.sigInfo.keyLocator.name}` : null,
  };
}
