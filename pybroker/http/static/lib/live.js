// Has a page's figures asked for again and again: every two seconds, while somebody may see it.

const PERIOD_MS = 2_000;
const SLOW_MS = 3_000;

/**
 * Calls `load(signal)` now and every two seconds after its end; its outcome goes to `done(data)` or `failed(error)`.
 * While that lets itself be waited for, it `isSlow`, which `slow()` is told.
 */
export class Live {
	#load;
	#done;
	#failed;
	#slow;
	#timer = 0;
	#request = null;
	isPaused = false;
	isSlow = false;

	constructor({ done, failed, slow }) {
		this.#done = done;
		this.#failed = failed;
		this.#slow = slow;
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
		const patience = setTimeout(() => {
			this.isSlow = true;
			this.#slow();
		}, SLOW_MS);
		request.signal.addEventListener("abort", () => clearTimeout(patience));
		try {
			const data = await this.#load(request.signal);
			if (!request.signal.aborted) this.#end(patience, () => this.#done(data));
		} catch (error) {
			if (!request.signal.aborted) this.#end(patience, () => this.#failed(error));
		}
		if (this.#request !== request) return;
		this.#request = null;
		this.#next(PERIOD_MS);
	}

	#end(patience, tell) {
		clearTimeout(patience);
		this.isSlow = false;
		tell();
	}

	#next(ms) {
		clearTimeout(this.#timer);
		if (this.isPaused || document.hidden || this.#request || !this.#load) return;
		this.#timer = setTimeout(() => this.#ask(), ms);
	}

	#abort() {
		this.isSlow = false;
		this.#request?.abort();
		this.#request = null;
	}
}
