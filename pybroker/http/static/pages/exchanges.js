// Exchanges: a page of them, by name or by figures.

import { addExchange } from "../actions/exchanges.js";
import { path } from "../lib/api.js";
import { rate, rateOf } from "../lib/format.js";
import { badge, exchangeLink, heading, inVHost, vhostLink } from "../lib/parts.js";
import { list, pageOf } from "../lib/table.js";
import { h } from "../lib/view.js";

/** Short words about how an exchange was declared. */
export function features(exchange) {
	const alternate = exchange.arguments?.["alternate-exchange"];
	return h(
		"span",
		{ class: "badges" },
		exchange.durable && badge("D", "Durable: survives a restart"),
		exchange.auto_delete && badge("AD", "Deleted with its last binding"),
		exchange.internal && badge("I", "Internal: clients cannot publish to it"),
		alternate !== undefined && badge("AE", `Unroutable messages go to exchange “${alternate}”`),
	);
}

const COLUMNS = [
	{
		id: "name",
		label: "Name",
		sort: "name",
		class: "name",
		cell: (exchange) => exchangeLink(exchange.vhost, exchange.name),
	},
	{ id: "vhost", label: "Virtual host", sort: "vhost", class: "wide", cell: (exchange) => vhostLink(exchange.vhost) },
	{ id: "type", label: "Type", sort: "type", cell: (exchange) => h("bdi", null, exchange.type) },
	{ id: "features", label: "Features", cell: features },
	{ id: "policy", label: "Policy", sort: "policy", cell: (exchange) => exchange.policy ?? "" },
	{
		id: "in",
		label: "Published in",
		sort: "message_stats.publish_in_details.rate",
		num: true,
		cell: (exchange) => rate(rateOf(exchange.message_stats, "publish_in")),
	},
	{
		id: "out",
		label: "Routed out",
		sort: "message_stats.publish_out_details.rate",
		num: true,
		cell: (exchange) => rate(rateOf(exchange.message_stats, "publish_out")),
	},
];

export const page = {
	title: () => "Exchanges",

	load: (ctx, get) =>
		get(ctx.query.vhost ? path`/api/exchanges/${ctx.query.vhost}` : "/api/exchanges", pageOf(COLUMNS, ctx.query)),

	view: (ctx, envelope) => [
		heading("", "Exchanges", inVHost(ctx), addExchange(ctx)),
		list(ctx, {
			noun: "exchange",
			columns: COLUMNS,
			envelope,
			key: (one) => `${one.vhost}\n${one.name}`,
			name: (one) => one.name || "the default exchange",
		}),
	],
};
