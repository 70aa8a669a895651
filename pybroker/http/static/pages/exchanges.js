// Exchanges: a page of them, by name or by figures.

import { addExchange } from "../actions/exchanges.js";
import { path } from "../lib/api.js";
import { perSecond, VHOST_COLUMN } from "../lib/columns.js";
import { badge, badges, exchangeLink, heading, inVHost } from "../lib/parts.js";
import { list, pageOf } from "../lib/table.js";
import { h } from "../lib/view.js";

/** Short words about how an exchange was declared. */
export function features(exchange) {
	const alternate = exchange.arguments?.["alternate-exchange"];
	return badges(
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
	VHOST_COLUMN,
	{ id: "type", label: "Type", sort: "type", cell: (exchange) => h("bdi", null, exchange.type) },
	{ id: "features", label: "Features", cell: features },
	{ id: "policy", label: "Policy", sort: "policy", cell: (exchange) => exchange.policy ?? "" },
	perSecond("in", "Published in", "publish_in"),
	perSecond("out", "Routed out", "publish_out"),
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
