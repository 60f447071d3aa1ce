// What a view holds while it is shown: requests, timers and live readings, all of which end when it is left.

import { Trouble } from "./api.js";
import { live } from "./live.js";

export class Scope {
  constructor() {
    this.ended = false;
    this.controller = new AbortController();
    this.endings = [];
  }

  /** Ends requests that are under way when the view is left. */
  get signal() {
    return this.controller.signal;
  }

  /** Do something when the view is left. */
  onEnd(ending) {
    if (this.ended) ending();
    else this.endings.push(ending);
  }

  /** Do something now and every so many ms, never twice at once, and not while nobody looks. */
  every(milliseconds, work) {
    let timer = null;
    const round = async () => {
      if (!document.hidden) await this.run(work);
      if (!this.ended) timer = setTimeout(round, milliseconds);
    };
    this.onEnd(() => clearTimeout(timer));
    return round();
  }

  /** Run something that asks the node; that the view was left meanwhile is no trouble. */
  async run(work, onTrouble = null) {
    try {
      return await work();
    } catch (error) {
      if (this.ended || error.name === "AbortError") return undefined;
      if (!(error instanceof Trouble)) throw error;
      onTrouble?.(error);
      return undefined;
    }
  }

  /** Want live readings while the view is shown. */
  live(spec, hands) {
    const wanted = live.want(spec, hands);
    this.onEnd(() => wanted.stop());
    return wanted;
  }

  /** Do something when the live line is back: what was missed has to be asked for. */
  onBack(work) {
    this.onEnd(live.watch((state, gap) => state === "live" && gap !== null && work(gap)));
  }

  listen(target, event, listener, options = {}) {
    target.addEventListener(event, listener, { ...options, signal: this.signal });
  }

  end() {
    this.ended = true;
    this.controller.abort();
    for (const each of this.endings.reverse()) each();
    this.endings = [];
  }
}
