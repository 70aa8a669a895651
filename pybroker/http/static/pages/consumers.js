// Tables of consumers, for the pages of queues and channels.

import { count } from "../lib/format.js";
import { argumentsOf, badge, badges, channelLink, connectionLink, queueLink, userLink } from "../lib/parts.js";
import { table } from "../lib/table.js";
import { h } from "../lib/view.js";

export function consumersTable(ctx, consumers, { withQueue = true, withChannel = true, withOffsets = false } = {}) {
	if (!consumers.length)
		return h(
			"p",
			{ class: "quiet" },
			withQueue ? "This channel consumes nothing." : "Nobody consumes from this queue.",
		);
	return table(ctx, {
		caption: "Consumers",
		isPlain: true,
		rows: consumers,
		key: (one) => JSON.stringify([one.channel_details, one.consumer_tag]),
		columns: [
			{ label: "Tag", class: "name", cell: (one) => h("bdi", null, one.consumer_tag) },
			withQueue && { label: "Queue", cell: (one) => queueLink(one.queue.vhost, one.queue.name) },
			withChannel && {
				label: "Channel",
				cell: ({ channel_details: channel }) => placeOf(channel),
			},
			withChannel && { label: "User", cell: (one) => userLink(one.channel_details?.user) },
			{ label: "Acknowledges", cell: (one) => (one.ack_required ? "yes" : "no") },
			{ label: "Prefetch", num: true, cell: (one) => (one.prefetch_count ? count(one.prefetch_count) : "no limit") },
			{
				label: "State",
				cell: (one) =>
					badges(
						one.active === false
							? badge("waiting", "Another consumer is the active one", "warn")
							: badge("active", "It gets messages", "ok"),
						one.exclusive && badge("exclusive", "The only one that may consume"),
					),
			},
			withOffsets && { label: "Next offset", num: true, cell: (one) => count(one.next_offset) },
			withOffsets && { label: "Behind by", num: true, hint: "Messages", cell: (one) => count(one.lag) },
			{ label: "Arguments", class: "wrap", cell: (one) => argumentsOf(one.arguments) },
		].filter(Boolean),
	});
}

/** The channel of a consumer; its connection if the protocol has no channels. */
function placeOf(channel) {
	if (channel?.name) return channelLink(channel.name);
	return channel?.connection_name ? connectionLink(channel.connection_name) : "";
}
