// Channels: what they publish, get and owe.

import { path } from "../lib/api.js";
import { countColumn, perSecond, VHOST_COLUMN } from "../lib/columns.js";
import { badge, badges, channelLink, heading, inVHost, state, userLink } from "../lib/parts.js";
import { list, pageOf, table } from "../lib/table.js";
import { h } from "../lib/view.js";

const modes = (channel) =>
	badges(
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
	VHOST_COLUMN,
	{ id: "user", label: "User", sort: "user", class: "wide", cell: (one) => userLink(one.user) },
	{ id: "mode", label: "Mode", cell: modes },
	{ id: "state", label: "State", sort: "state", cell: (one) => state(one.state) },
	countColumn("consumers", "Consumers", "consumer_count"),
	countColumn("prefetch", "Prefetch", "prefetch_count", { off: true }),
	countColumn("unacked", "Unacked", "messages_unacknowledged", { hint: "Delivered, not yet acknowledged" }),
	countColumn("unconfirmed", "Unconfirmed", "messages_unconfirmed", { hint: "Published, not yet confirmed" }),
	perSecond("publish", "Published", "publish"),
	perSecond("confirm", "Confirmed", "confirm", { off: true }),
	perSecond("deliver", "Delivered", "deliver_get"),
	perSecond("ack", "Acked", "ack"),
	perSecond("redeliver", "Redelivered", "redeliver", { off: true }),
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
