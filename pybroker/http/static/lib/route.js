// Addresses: "#/queues/%2F/orders?tab=messages". The state of a page is in its address, so that it can be sent and goes back.

/** Return the name of the page, the names in the path, and the parameters. */
export function parse(hash) {
	const [path, query = ""] = hash.replace(/^#?\/?/, "").split("?");
	const [page = "", ...args] = path.split("/").map(decoded);
	return { page: page || "overview", args, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** Return an address. Parameters that are undefined, null or "" are left out. */
export function link(page, args = [], query = {}) {
	const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
	const tail = pairs.length ? `?${new URLSearchParams(pairs)}` : "";
	return `#/${[page === "overview" && !args.length ? "" : page, ...args].map(encodeURIComponent).join("/")}${tail}`;
}

function decoded(part) {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}
