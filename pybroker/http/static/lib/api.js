// Requests to the node. Knows the session and its token, and how a refusal is told; keeps no password.

class Failure extends Error {
	/** `status` 0: there was no answer. */
	constructor(status, reason, facts = {}) {
		super(reason);
		this.status = status;
		this.facts = facts;
	}

	get isOffline() {
		return this.status === 0 || this.status === 502 || this.status === 503;
	}
}

const ANSWERS_MAX = 40;
const PATIENCE_MS = 15_000;
let token = "";
// Path -> {tag, data}: what an answer 304 stands for.
const answers = new Map();

/** Tag for templates: a path whose values are encoded, `/` and all. Throws Failure for names that browsers leave out. */
export const path = (texts, ...values) => String.raw({ raw: texts }, ...values.map(encoded));

function encoded(value) {
	// Encoded or not, such a part is taken for a step in the path: the request would go elsewhere.
	if (value === "." || value === "..")
		throw new Failure(400, `A browser cannot ask for the name “${value}”. Use pybrokerctl for it.`);
	return encodeURIComponent(value);
}

/** The path with parameters; those that are undefined, null or "" are left out. */
export function withQuery(base, query = {}) {
	const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
	return pairs.length ? `${base}?${new URLSearchParams(pairs)}` : base;
}

/** Ask for a document. Throws Failure. */
export async function get(base, query, signal) {
	const place = withQuery(base, query);
	const before = answers.get(place);
	const response = await send("GET", place, undefined, signal, before ? { "If-None-Match": before.tag } : {});
	if (response.status === 304 && before) return before.data;
	const data = await document_(response);
	const tag = response.headers.get("ETag");
	answers.delete(place);
	if (tag) answers.set(place, { tag, data });
	if (answers.size > ANSWERS_MAX) answers.delete(answers.keys().next().value);
	return data;
}

/** Change something; return the document that was answered, if any. Throws Failure. */
export const put = (place, body) => change("PUT", place, body);
export const post = (place, body) => change("POST", place, body);
export const remove = (place, body, headers) => change("DELETE", place, body, headers);

async function change(method, place, body, headers) {
	return document_(await send(method, place, body ?? {}, undefined, headers));
}

/** Yield the lines of an answer as they come. Throws Failure; ends the work at the node when `signal` does. */
export async function* stream(place, body, signal) {
	const response = await send("POST", place, body, signal);
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	for (;;) {
		const { value, done } = await reader.read().catch((error) => {
			throw error.name === "AbortError" ? error : new Failure(0, "the connection was lost");
		});
		if (done) return;
		const lines = (rest + value).split("\n");
		rest = lines.pop();
		for (const line of lines) if (line.trim()) yield JSON.parse(line);
	}
}

async function send(method, place, body, signal, headers = {}) {
	const slow = AbortSignal.timeout(PATIENCE_MS);
	const options = {
		method,
		credentials: "same-origin",
		cache: "no-store",
		headers: { "X-CSRF-Token": token, ...headers },
		signal: signal && method !== "GET" ? signal : AbortSignal.any(signal ? [signal, slow] : [slow]),
	};
	if (body !== undefined) {
		options.headers["Content-Type"] = "application/json";
		options.body = JSON.stringify(body);
	}
	let response;
	try {
		response = await fetch(new URL(place.replace(/^\//, ""), document.baseURI), options);
	} catch (error) {
		if (signal?.aborted) throw error;
		throw new Failure(0, "the node does not answer");
	}
	if (response.ok || response.status === 304) return response;
	throw await failure(response);
}

async function failure(response) {
	const text = await response.text().catch(() => "");
	let facts = {};
	try {
		facts = JSON.parse(text) ?? {};
	} catch {
		// A proxy in between may answer with anything.
	}
	const reason =
		typeof facts.reason === "string"
			? facts.reason
			: facts.reason
				? JSON.stringify(facts.reason)
				: `status ${response.status}`;
	return new Failure(response.status, reason, facts);
}

async function document_(response) {
	const text = await response.text();
	return text ? JSON.parse(text) : null;
}

// -- the session ------------------------------------------------------------------------------------------------------

/** Return the user of the session, {name, tags}; null without one. */
export async function session() {
	try {
		return opened(await get("/api/pybroker/session"));
	} catch (error) {
		if (error.status === 401) return null;
		throw error;
	}
}

export const login = async (username, password) => opened(await post("/api/pybroker/session", { username, password }));

export async function logout() {
	await remove("/api/pybroker/session");
	token = "";
	answers.clear();
}

function opened(found) {
	token = found.csrf_token ?? "";
	const tags = typeof found.tags === "string" ? found.tags.split(",") : found.tags;
	return { name: found.name, tags: tags.map((tag) => tag.trim()) };
}
