// Channels: what they publish, get and owe.

import { path } from "../lib/api.js";
import { count, rate, rateOf } from "../lib/format.js";
import { badge, channelLink, heading, inVHost, state, userLink, vhostLink } from "../lib/parts.js";
import { list, pageOf, table } from "../lib/table.js";
import { h } from "../lib/view.js";

const perSecond = (key) => (channel) => rate(rateOf(channel.message_stats, key));
const rateKey = (key) => `message_stats.${key}_details.rate`;

const modes = (channel) =>
	h(
		"span",
		{ class: "badges" },
		channel.confirm && badge("C", "Confirms publishes"),
		channel.transactional && badge("T", "Uses transactions"),
	);

const COLUMNS = [
	{
		id: "name",
		label: "Channel",
		sort: "name",
		class: "name",
		cell: (one) =>
			channelLink(
				one.name,
				one.connection_details?.peer_host
					? `${one.connection_details.peer_host}:${one.connection_details.peer_port} (${one.number})`
					: one.name,
			),
	},
	{ id: "vhost", label: "Virtual host", sort: "vhost", class: "wide", cell: (one) => vhostLink(one.vhost) },
	{ id: "user", label: "User", sort: "user", class: "wide", cell: (one) => userLink(one.user) },
	{ id: "mode", label: "Mode", cell: modes },
	{ id: "state", label: "State", sort: "state", cell: (one) => state(one.state) },
	{ id: "consumers", label: "Consumers", sort: "consumer_count", num: true, cell: (one) => count(one.consumer_count) },
	{ id: "prefetch", label: "Prefetch", sort: "prefetch_count", num: true, off: true, cell: (one) => count(one.prefetch_count) },
	{
		id: "unacked",
		label: "Unacked",
		sort: "messages_unacknowledged",
		num: true,
		hint: "Delivered, not yet acknowledged",
		cell: (one) => count(one.messages_unacknowledged),
	},
	{
		id: "unconfirmed",
		label: "Unconfirmed",
		sort: "messages_unconfirmed",
		num: true,
		hint: "Published, not yet confirmed",
		cell: (one) => count(one.messages_unconfirmed),
	},
	{ id: "publish", label: "Published", sort: rateKey("publish"), num: true, cell: perSecond("publish") },
	{ id: "confirm", label: "Confirmed", sort: rateKey("confirm"), num: true, off: true, cell: perSecond("confirm") },
	{ id: "deliver", label: "Delivered", sort: rateKey("deliver_get"), num: true, cell: perSecond("deliver_get") },
	{ id: "ack", label: "Acked", sort: rateKey("ack"), num: true, cell: perSecond("ack") },
	{
		id: "redeliver",
		label: "Redelivered",
		sort: rateKey("redeliver"),
		num: true,
		off: true,
		cell: perSecond("redeliver"),
	},
];

export const page = {
	title: () => "Channels",

	load: (ctx, get) =>
		get(ctx.query.vhost ? path`/api/vhosts/${ctx.query.vhost}/channels` : "/api/channels", pageOf(COLUMNS, ctx.query)),

	view: (ctx, envelope) => [
		heading("", "Channels", inVHost(ctx)),
		list(ctx, {
			noun: "channel",
			columns: COLUMNS,
			envelope,
			key: (one) => one.name,
			name: (one) => one.name,
			empty: "No application has a channel open here.",
		}),
	],
};

/** The channels of one connection. */
export function channelsTable(ctx, channels) {
	if (!channels.length) return h("p", { class: "quiet" }, "It has no channel open.");
	const columns = COLUMNS.filter(({ id }) => !["vhost", "user", "redeliver"].includes(id));
	return table(ctx, { caption: "Channels", isPlain: true, columns, rows: channels, key: (one) => one.name });
}
