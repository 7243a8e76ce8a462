// Votes and undos on their way to the server. Each is stored in the browser before it is sent and until the server confirms it, so that
// a lost connection, a reload or a crash loses none. Sending one twice is safe: the server identifies a vote by its pair.

const LONGEST_DELAY = 30_000;

/** Whether the server will never accept an entry. (A closed study may be opened again, an expired session renewed.) */
export const isPermanent = (error) => [400, 404, 409, 413, 422].includes(error.status) && !error.isA("study_not_open");

export class OfflineQueue {
  #key;
  #send;
  #onProgress;
  #fallback = [];
  #delay = 1000;
  #timer = null;
  #flushing = null;

  /** `send(entry)` resolves once the server has saved it; `onProgress(error)` is called after each attempt. */
  constructor(key, send, onProgress) {
    this.#key = key;
    this.#send = send;
    this.#onProgress = onProgress;
    addEventListener("online", () => this.flush());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.flush();
    });
  }

  get entries() {
    try {
      return JSON.parse(localStorage.getItem(this.#key)) ?? [];
    } catch {
      return this.#fallback;
    }
  }

  #store(entries) {
    this.#fallback = entries;
    try {
      localStorage.setItem(this.#key, JSON.stringify(entries));
    } catch {
      /* Storage is full or disabled: entries last as long as the page is open. */
    }
  }

  add(entry) {
    this.#store([...this.entries, { ...entry, key: `${Date.now()}-${Math.random()}` }]);
    return this.flush();
  }

  /** Remove the last entry if it is the vote on this pair and was never sent. One that was sent may have arrived. */
  cancel(duel) {
    const entries = this.entries;
    const last = entries.at(-1);
    if (last?.attempted || last?.duel !== duel || last.kind !== "vote") return false;
    this.#store(entries.slice(0, -1));
    return true;
  }

  /** Send all entries in order; resolves to whether the queue is empty. Several tabs take turns. */
  flush() {
    clearTimeout(this.#timer);
    this.#flushing ??= this.#withLock(() => this.#sendAll()).then((isEmpty) => {
      this.#flushing = null;
      return isEmpty && this.entries.length ? this.flush() : isEmpty; // entries were added in the meantime
    });
    return this.#flushing;
  }

  #withLock(work) {
    return navigator.locks ? navigator.locks.request(this.#key, work) : work();
  }

  async #sendAll() {
    for (let entry = this.entries[0]; entry; entry = this.entries[0]) {
      let rejection = null;
      this.#store(this.entries.map((each) => (each.key === entry.key ? { ...each, attempted: true } : each)));
      try {
        await this.#send(entry);
      } catch (error) {
        if (!isPermanent(error)) {
          this.#timer = setTimeout(() => this.flush(), this.#delay);
          this.#delay = Math.min(LONGEST_DELAY, 2 * this.#delay);
          this.#onProgress(error);
          return false;
        }
        rejection = error; // drop the entry: it would block all others
      }
      this.#delay = 1000;
      this.#store(this.entries.filter((each) => each.key !== entry.key));
      this.#onProgress(rejection);
    }
    return true;
  }
}
