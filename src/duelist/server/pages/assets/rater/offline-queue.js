// Votes on their way. Each is in the browser's storage before anything is sent and until the server has acknowledged it, so that
// a lost connection, a reload or a crash loses none; the server knows a vote by its duel, so that sending it again counts once.

const LONGEST = 30_000;

/** Whether the server will never take it. A closed study may be opened again, a session that has ended renewed. */
const isFinal = (error) => [400, 404, 409, 413, 422].includes(error.status) && error.code !== "study_not_open";

export class Outbox {
  #key;
  #send;
  #changed;
  #memory = [];
  #wait = 1000;
  #timer = null;
  #busy = null;

  /** `send(item)` resolves when the server has it; `changed(error)` is called after every step, with what went wrong, if anything. */
  constructor(key, send, changed) {
    this.#key = key;
    this.#send = send;
    this.#changed = changed;
    addEventListener("online", () => this.flush());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.flush();
    });
  }

  get items() {
    try {
      return JSON.parse(localStorage.getItem(this.#key)) ?? [];
    } catch {
      return this.#memory;
    }
  }

  #keep(items) {
    this.#memory = items;
    try {
      localStorage.setItem(this.#key, JSON.stringify(items));
    } catch {
      /* no storage: kept as long as the page is open */
    }
  }

  add(item) {
    this.#keep([...this.items, { ...item, key: `${Date.now()}-${Math.random()}` }]);
    return this.flush();
  }

  /** Take back the newest item if it is the vote on this duel and was never sent: one that was may have arrived. */
  takeBack(duel) {
    const items = this.items;
    const last = items.at(-1);
    if (last?.tried || last?.duel !== duel || last.kind !== "vote") return false;
    this.#keep(items.slice(0, -1));
    return true;
  }

  /** Send what is waiting, in order; resolves to whether nothing is left. Several tabs take turns. */
  flush() {
    clearTimeout(this.#timer);
    this.#busy ??= this.#alone(() => this.#drain()).then((done) => {
      this.#busy = null;
      return done && this.items.length ? this.flush() : done; // something was added while the last was leaving
    });
    return this.#busy;
  }

  #alone(work) {
    return navigator.locks ? navigator.locks.request(this.#key, work) : work();
  }

  async #drain() {
    for (let item = this.items[0]; item; item = this.items[0]) {
      let refused = null;
      this.#keep(this.items.map((each) => (each.key === item.key ? { ...each, tried: true } : each)));
      try {
        await this.#send(item);
      } catch (error) {
        if (!isFinal(error)) {
          this.#timer = setTimeout(() => this.flush(), this.#wait);
          this.#wait = Math.min(LONGEST, 2 * this.#wait);
          this.#changed(error);
          return false;
        }
        refused = error; // it will never be taken: keeping it would hold up all others
      }
      this.#wait = 1000;
      this.#keep(this.items.filter((each) => each.key !== item.key));
      this.#changed(refused);
    }
    return true;
  }
}
