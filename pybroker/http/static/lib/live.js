// Has a page's figures asked for again and again: every two seconds, while somebody may see it.

const PERIOD_MS = 2_000;

/** Calls `load(signal)` now and every two seconds after its end; its outcome goes to `done(data)` or `failed(error)`. */
export class Live {
	#load;
	#done;
	#failed;
	#timer = 0;
	#request = null;
	isPaused = false;

	constructor({ done, failed }) {
		this.#done = done;
		this.#failed = failed;
		document.addEventListener("visibilitychange", () => this.#next(0));
	}

	/** Show something else: what is under way for the former is given up. */
	start(load) {
		this.#load = load;
		this.refresh();
	}

	stop() {
		this.#load = null;
		this.#abort();
		clearTimeout(this.#timer);
	}

	/** Ask at once, paused or not. */
	refresh() {
		this.#abort();
		clearTimeout(this.#timer);
		return this.#ask();
	}

	pause(isPaused) {
		this.isPaused = isPaused;
		this.#next(0);
	}

	async #ask() {
		if (!this.#load) return;
		const request = (this.#request = new AbortController());
		try {
			const data = await this.#load(request.signal);
			if (!request.signal.aborted) this.#done(data);
		} catch (error) {
			if (!request.signal.aborted) this.#failed(error);
		}
		if (this.#request !== request) return;
		this.#request = null;
		this.#next(PERIOD_MS);
	}

	#next(ms) {
		clearTimeout(this.#timer);
		if (this.isPaused || document.hidden || this.#request || !this.#load) return;
		this.#timer = setTimeout(() => this.#ask(), ms);
	}

	#abort() {
		this.#request?.abort();
		this.#request = null;
	}
}
