// One channel: what it publishes, what it consumes, and what it owes.

import { path } from "../lib/api.js";
import { chart } from "../lib/chart.js";
import { count } from "../lib/format.js";
import { connectionLink, facts, heading, section, sideBySide, state, tiles, userLink, vhostLink } from "../lib/parts.js";
import { rangeChoice, samplesOf, SHORT_RANGES } from "../lib/ranges.js";
import { perSecond } from "../lib/series.js";
import { h } from "../lib/view.js";
import { consumersTable } from "./consumers.js";

const MESSAGES = [
	["publish", "Published"],
	["confirm", "Confirmed"],
	["deliver_get", "Delivered"],
	["ack", "Acknowledged"],
	["redeliver", "Redelivered"],
	["return_unroutable", "Returned"],
];

export const page = {
	title: ({ args: [name] }) => name,

	load: (ctx, get) => get(path`/api/channels/${ctx.args[0]}`, samplesOf(ctx.query, "msg_rates")),

	view: (ctx, channel) => [
		heading(
			"Channel",
			h("bdi", null, channel.name),
			["of connection ", connectionLink(channel.connection_details.name)],
			rangeChoice(ctx, SHORT_RANGES),
		),
		tiles([
			{ label: "State", value: state(channel.state) },
			{ label: "Unacknowledged", value: count(channel.messages_unacknowledged) },
			{ label: "Unconfirmed", value: count(channel.messages_unconfirmed) },
			{ label: "Prefetch", value: channel.prefetch_count ? count(channel.prefetch_count) : "no limit" },
			channel.transactional && {
				label: "Uncommitted",
				value: count(channel.messages_uncommitted),
				note: `${count(channel.acks_uncommitted)} acknowledgements`,
			},
		]),
		sideBySide(
			chart(ctx, {
				id: "channel-rates",
				title: "Messages per second",
				unit: "rate",
				series: perSecond(ctx, channel.message_stats, MESSAGES),
			}),
			section(
				"Channel",
				facts([
					["User", userLink(channel.user)],
					["Virtual host", vhostLink(channel.vhost)],
					["Number", channel.number],
					[
						"Publishes",
						channel.transactional ? "in transactions" : channel.confirm ? "with confirms" : "without confirms",
					],
					["Global prefetch", channel.global_prefetch_count ? count(channel.global_prefetch_count) : null],
				]),
			),
		),
		section("Consumers", consumersTable(ctx, channel.consumer_details ?? [], { withChannel: false })),
	],
};
