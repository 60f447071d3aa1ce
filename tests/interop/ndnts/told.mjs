// What the tests are told: bytes in hex, and what there is to know about a Data.

export function hex(bytes) {
  return Buffer.from(bytes).toString("hex");
}

export async function told(data) {
  const { type, keyLocator } = data.sigInfo;
  return {
    name: `${data.name}`,
    content: hex(data.content),
    digest: hex(await data.computeImplicitDigest()),
    freshness_ms: data.freshnessPeriod,
    signature_type: type,
    key: keyLocator?.name ? `${keyLocator.name}` : null,
  };
}
