// Tables of publishers and consumers of the stream protocol.

import { count } from "../lib/format.js";
import { argumentsOf, connectionLink, queueLink, userLink } from "../lib/parts.js";
import { table } from "../lib/table.js";
import { h } from "../lib/view.js";

const place = [
	{ label: "Connection", cell: (one) => connectionLink(one.connection_details.name) },
	{ label: "User", cell: (one) => userLink(one.connection_details.user) },
];
const stream = { label: "Stream", cell: (one) => queueLink(one.queue.vhost, one.queue.name) };

/** Publishers of a connection, or of a stream, which are not told their stream again. */
export function publishersTable(ctx, publishers, { withStream = true } = {}) {
	if (!publishers.length)
		return h("p", { class: "quiet" }, withStream ? "No publisher." : "No client of the stream protocol publishes here.");
	return table(ctx, {
		caption: "Publishers",
		isPlain: true,
		rows: publishers,
		key: (one) => `${one.connection_details.name}\n${one.publisher_id}`,
		columns: [
			{ label: "Id", class: "name", cell: (one) => String(one.publisher_id) },
			{ label: "Name", class: "name", cell: (one) => h("bdi", null, one.reference) },
			...(withStream ? [stream] : place),
			{ label: "Published", num: true, hint: "Messages", cell: (one) => count(one.published) },
			{ label: "Confirmed", num: true, hint: "Messages", cell: (one) => count(one.confirmed) },
			{ label: "Refused", num: true, hint: "Messages", cell: (one) => count(one.errored) },
		],
	});
}

/** Consumers of a connection. */
export function subscriptionsTable(ctx, consumers) {
	if (!consumers.length) return h("p", { class: "quiet" }, "No consumer.");
	return table(ctx, {
		caption: "Consumers",
		isPlain: true,
		rows: consumers,
		key: (one) => String(one.subscription_id),
		columns: [
			{ label: "Id", class: "name", cell: (one) => String(one.subscription_id) },
			stream,
			{ label: "Delivered", num: true, hint: "Messages", cell: (one) => count(one.consumed) },
			{ label: "Last offset", num: true, cell: (one) => (one.consumed ? count(one.offset) : "none") },
			{ label: "Behind by", num: true, hint: "Messages", cell: (one) => count(one.offset_lag) },
			{ label: "Asked for", num: true, hint: "Chunks", cell: (one) => count(one.credits) },
			{ label: "Properties", class: "wrap", cell: (one) => argumentsOf(one.properties) },
		],
	});
}
