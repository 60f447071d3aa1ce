// Members of sync groups, whichever protocol they speak: what each publishes, has learned and has refused. A stream is
// {name, boot}, with boot 0 where the protocol has none.
//
// Imports nothing of @ndn, because it serves both sets of NDNts: it builds on what their protocols have in common.

const WAIT_MS = 10000;
const members = new Map();

export class Member {
  learned = []; // every range, in the order told
  refused = []; // why packets were not believed
  #high = new Map();
  #checks = new Set();

  // Where the numbers of a stream are set, and what ends it all.
  constructor({ node, close }) {
    this.node = node;
    this.close = close;
  }

  publish({ name, boot, high }) {
    const node = this.node(name, boot);
    node.seqNum = high;
    return this.#know(node.id, high);
  }

  learn({ id, loSeqNum: low, hiSeqNum: high }) {
    this.learned.push({ ...this.#know(id, high), low });
    this.#changed();
  }

  refuse(err) {
    this.refused.push(err?.message ?? String(err));
    this.#changed();
  }

  // All streams it knows, its own included, in one line.
  knows(streams = this.#high.values()) {
    return Array.from(streams, ({ name, boot, high }) => `${name}@${boot}=${high}`).sort().join(" ");
  }

  until(what, holds) {
    if (holds()) {
      return undefined;
    }
    const { promise, resolve, reject } = Promise.withResolvers();
    const check = () => holds() && resolve();
    const timer = setTimeout(() => {
      const refused = this.refused.length === 0 ? "" : `, and has refused: ${this.refused.join("; ")}`;
      reject(new Error(`after ${WAIT_MS} ms it knows "${this.knows()}"${refused}; wanted: ${what}`));
    }, WAIT_MS);
    this.#checks.add(check);
    return promise.finally(() => {
      clearTimeout(timer);
      this.#checks.delete(check);
    });
  }

  #know(id, high) {
    const name = `${id}`.replaceAll("/8=", "/");
    const boot = Math.max(id.boot ?? 0, 0);
    const stream = { name, boot, high };
    this.#high.set(`${name}@${boot}`, stream);
    return stream;
  }

  #changed() {
    for (const check of this.#checks) {
      check();
    }
  }
}

export function memberOf(name) {
  const member = members.get(name);
  if (!member) {
    throw new Error(`there is no member ${name}`);
  }
  return member;
}

export function addMember(name, member) {
  members.set(name, member);
}

// Bring a stream of ours to a number.
function publish({ member: name, ...stream }) {
  return memberOf(name).publish(stream);
}

// Wait until the member knows these streams and no other, its own included; returns every range it has learned.
async function learned({ member: name, streams }) {
  const member = memberOf(name);
  const wanted = member.knows(streams);
  await member.until(`"${wanted}"`, () => member.knows() === wanted);
  return member.learned;
}

// Wait until the member has refused so many packets; returns why.
async function refused({ member: name, count }) {
  const member = memberOf(name);
  await member.until(`${count} packets refused`, () => member.refused.length >= count);
  return member.refused;
}

async function leave({ member: name }) {
  await memberOf(name).close();
  members.delete(name);
}

export const verbs = { publish, learned, refused, leave };
