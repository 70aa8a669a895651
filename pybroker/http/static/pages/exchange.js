// One exchange: what is published to it, and where that goes.

import { bindForm, exchangeButtons, unbind } from "../actions/exchanges.js";
import { publishPart } from "../actions/publish.js";
import { path } from "../lib/api.js";
import { chart } from "../lib/chart.js";
import { count, rate } from "../lib/format.js";
import { argumentsOf, exchangeName, facts, heading, section, sideBySide, tabs, tiles, vhostLink } from "../lib/parts.js";
import { rangeChoice, samplesOf, SHORT_RANGES } from "../lib/ranges.js";
import { latest, perSecond } from "../lib/series.js";
import { h } from "../lib/view.js";
import { bindingsTable } from "./bindings.js";
import { features } from "./exchanges.js";

const MESSAGES = [
	["publish_in", "Published in"],
	["publish_out", "Routed out"],
];

export const page = {
	title: ({ args: [, name] }) => (name === "amq.default" ? "(default)" : name),

	async load(ctx, get) {
		const [vhost, name] = ctx.args;
		const isBindings = ctx.query.tab === "bindings";
		const [exchange, from, to] = await Promise.all([
			get(path`/api/exchanges/${vhost}/${name}`, samplesOf(ctx.query, "msg_rates")),
			isBindings ? get(path`/api/exchanges/${vhost}/${name}/bindings/source`) : [],
			isBindings ? get(path`/api/exchanges/${vhost}/${name}/bindings/destination`) : [],
		]);
		return { exchange, from, to };
	},

	view(ctx, { exchange, from, to }) {
		const tab = ctx.query.tab ?? "figures";
		return [
			heading(
				"Exchange",
				exchangeName(exchange.name),
				["in ", vhostLink(exchange.vhost), " ", features(exchange)],
				tab === "figures" && rangeChoice(ctx, SHORT_RANGES),
				exchangeButtons(ctx, exchange),
			),
			tabs(ctx, [
				{ id: "figures", label: "Figures" },
				{ id: "bindings", label: "Bindings" },
				!exchange.internal && { id: "publish", label: "Publish" },
			]),
			tab === "figures" && figures(ctx, exchange),
			tab === "bindings" && [
				section(
					"From this exchange",
					exchange.name
						? [
								bindingsTable(ctx, from, { withSource: false, extra: unbind(ctx) }),
								bindForm(ctx, { vhost: exchange.vhost, source: exchange.name }),
							]
						: h("p", { class: "quiet" }, "Each queue is bound to the default exchange by its own name."),
				),
				exchange.name &&
					section("To this exchange", bindingsTable(ctx, to, { withDestination: false, extra: unbind(ctx) })),
			],
			tab === "publish" && publishPart(ctx, { vhost: exchange.vhost, exchange: exchange.name || "amq.default" }),
		];
	},
};

function figures(ctx, exchange) {
	const { message_stats: stats } = exchange;
	const series = perSecond(ctx, stats, MESSAGES);
	return [
		tiles([
			...MESSAGES.map(([key, label], i) => ({
				label,
				value: rate(latest(series[i])),
				note: `${count(stats?.[key] ?? 0)} in all`,
			})),
			stats?.return_unroutable > 0 && {
				label: "Returned",
				value: count(stats.return_unroutable),
				note: "unroutable, mandatory",
				kind: "warn",
			},
			stats?.drop_unroutable > 0 && {
				label: "Dropped",
				value: count(stats.drop_unroutable),
				note: "unroutable",
				kind: "warn",
			},
		]),
		sideBySide(
			chart(ctx, {
				id: "exchange-rates",
				title: "Messages per second",
				unit: "rate",
				series,
			}),
			section(
				"Declaration",
				facts([
					["Type", exchange.type],
					["Arguments", argumentsOf(exchange.arguments)],
					["Policy", exchange.policy],
					["Declared by", exchange.user_who_performed_action],
				]),
			),
		),
	];
}
