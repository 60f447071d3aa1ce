// The live line to the node: one WebSocket for the whole page, which says what all views want, and comes back by itself.
//
// Readings are gathered and handed out at most four times a second, however many come. After a break `back` is told, so
// that views ask for what they missed.

const FLUSH_MS = 250;
const FIRST_WAIT_MS = 400;
const MAX_WAIT_MS = 8000;
const MAX_GATHERED = 20_000;

class Line {
  constructor() {
    this.state = "idle"; // idle, connecting, live, lost
    this.dropped = 0;
    this.wants = new Map();
    this.watchers = new Set();
    this.socket = null;
    this.gathered = [];
    this.timer = null;
    this.retry = null;
    this.wait = FIRST_WAIT_MS;
    this.lostAt = null;
    this.asked = "";
    this.wrong = ""; // what does not come of what is wanted, and why
    this.complaints = new Set();
    addEventListener("online", () => this.again());
    document.addEventListener("visibilitychange", () => document.hidden || this.again());
  }

  /** Want readings: {streams, latest} and what to do with them, and with alerts. Returns how to want others, and stop. */
  want(spec, { readings = null, alerts = null } = {}) {
    const key = Symbol("want");
    this.wants.set(key, { spec, readings, alerts });
    this.tell();
    return {
      change: (other) => {
        const wanted = this.wants.get(key);
        if (!wanted) return;
        wanted.spec = other;
        this.tell();
      },
      stop: () => {
        this.wants.delete(key);
        this.tell();
      },
    };
  }

  /** Watch the line itself: (state, came back after how many ms or null). Returns how to stop. */
  watch(listener) {
    this.watchers.add(listener);
    listener(this.state, null);
    return () => this.watchers.delete(listener);
  }

  /** Hear what does not come live, and why; an empty text when all does. Returns how to stop. */
  onWrong(listener) {
    this.complaints.add(listener);
    listener(this.wrong);
    return () => this.complaints.delete(listener);
  }

  complain(wrong) {
    if (wrong === this.wrong) return;
    this.wrong = wrong;
    for (const each of this.complaints) each(wrong);
  }

  open() {
    if (this.socket !== null) return;
    clearTimeout(this.retry);
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/live`);
    this.socket = socket;
    if (this.lostAt === null) this.become("connecting");
    socket.addEventListener("open", () => {
      const gap = this.lostAt === null ? null : Date.now() - this.lostAt;
      this.lostAt = null;
      this.wait = FIRST_WAIT_MS;
      this.asked = "";
      this.tell();
      this.become("live", gap);
    });
    socket.addEventListener("message", (event) => this.take(event.data));
    socket.addEventListener("close", () => {
      if (this.socket === socket) this.lose();
    });
  }

  /** Close for good, or open anew for another user. */
  close() {
    clearTimeout(this.retry);
    const socket = this.socket;
    this.socket = null;
    this.lostAt = null;
    socket?.close();
    this.become("idle");
  }

  again() {
    if (this.state !== "lost") return;
    this.wait = FIRST_WAIT_MS;
    this.open();
  }

  lose() {
    this.socket = null;
    this.lostAt ??= Date.now();
    this.become("lost");
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.open(), this.wait * (0.75 + Math.random() / 2));
    this.wait = Math.min(MAX_WAIT_MS, this.wait * 2);
  }

  become(state, gap = null) {
    this.state = state;
    for (const each of this.watchers) each(state, gap);
  }

  tell() {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    const specs = [...this.wants.values()].map((each) => each.spec);
    const streams = [...new Set(specs.flatMap((each) => each.streams ?? []))];
    const latest = specs.every((each) => !each.streams?.length || each.latest);
    const text = JSON.stringify({ streams, latest, every_ms: FLUSH_MS });
    if (text === this.asked) return;
    this.asked = text;
    this.complain("");
    this.socket.send(text);
  }

  take(text) {
    let said;
    try {
      said = JSON.parse(text);
    } catch {
      return;
    }
    if (said.error) this.complain(said.error);
    if (said.refused?.length) this.complain(refusal(said.refused));
    if (said.dropped) this.dropped += said.dropped;
    if (said.alerts) for (const each of this.wants.values()) each.alerts?.(said.alerts);
    if (!said.readings?.length) return;
    this.gathered.push(...said.readings);
    if (this.gathered.length > MAX_GATHERED) this.gathered.splice(0, this.gathered.length - MAX_GATHERED);
    this.timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  flush() {
    this.timer = null;
    const readings = this.gathered;
    this.gathered = [];
    for (const { spec, readings: hand } of this.wants.values()) {
      if (!hand) continue;
      const streams = new Set(spec.streams ?? []);
      const wanted = readings.filter((each) => streams.has(each.stream));
      if (wanted.length) hand(wanted);
    }
  }
}

function refusal(refused) {
  const [{ error }] = refused;
  return refused.length === 1 ? error : `${refused.length} streams are refused, the first: ${error}`;
}

export const live = new Line();
