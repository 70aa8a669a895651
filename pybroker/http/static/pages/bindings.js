// Tables of bindings, for the pages of queues and exchanges.

import { argumentsOf, exchangeLink, queueLink } from "../lib/parts.js";
import { pageHere, table } from "../lib/table.js";
import { counted } from "../lib/format.js";
import { h } from "../lib/view.js";

/** `extra(binding)` is the last cell of a row. */
export function bindingsTable(ctx, bindings, { withSource = true, withDestination = true, extra } = {}) {
	if (!bindings.length) return h("p", { class: "quiet" }, "None.");
	const columns = [
		withSource && {
			id: "source",
			label: "From",
			cell: (one) => (one.source ? exchangeLink(one.vhost, one.source) : h("i", null, "the default exchange")),
		},
		withDestination && {
			id: "to",
			label: "To",
			cell: (one) => [
				one.destination_type === "queue" ? "queue " : "exchange ",
				one.destination_type === "queue"
					? queueLink(one.vhost, one.destination)
					: exchangeLink(one.vhost, one.destination),
			],
		},
		{
			id: "key",
			label: "Routing key",
			class: "wrap",
			cell: (one) => h("bdi", { class: "code" }, one.routing_key || h("i", null, "(empty)")),
		},
		{ id: "arguments", label: "Arguments", class: "wrap", cell: (one) => argumentsOf(one.arguments) },
		extra && { id: "extra", label: h("span", { class: "sr" }, "Actions"), class: "end", cell: extra },
	].filter(Boolean);
	const { items } = pageHere(bindings, columns, {}, () => "");
	return [
		table(ctx, {
			caption: "Bindings",
			isPlain: true,
			columns,
			rows: items,
			key: (one) => JSON.stringify([one.source, one.destination_type, one.destination, one.properties_key]),
		}),
		bindings.length > items.length &&
			h("p", { class: "quiet" }, `The first ${items.length} of ${counted(bindings.length, "binding")}.`),
	];
}
