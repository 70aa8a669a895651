// Virtual hosts: what each has, and how much is done in it.

import { addVHost } from "../actions/vhosts.js";
import { countColumn, octetsPerSecond, perSecond } from "../lib/columns.js";
import { count } from "../lib/format.js";
import { badge, badges, heading, state, vhostLink } from "../lib/parts.js";
import { link } from "../lib/route.js";
import { list, pageHere } from "../lib/table.js";
import { h } from "../lib/view.js";

const stateOf = ({ cluster_state: nodes }) =>
	Object.values(nodes ?? {}).find((word) => word !== "running") ?? "running";

/** Links to lists that are confined to a virtual host; `ids` are those of pages. */
export const linksInto = (vhost, ids) =>
	h(
		"span",
		{ class: "links" },
		ids.map((id) => h("a", { href: link(id, [], { vhost }) }, id)),
	);

const COLUMNS = [
	{
		id: "name",
		label: "Name",
		sort: "name",
		class: "name",
		cell: (vhost) => [vhostLink(vhost.name), vhost.description && h("small", null, h("bdi", null, vhost.description))],
	},
	{ id: "state", label: "State", cell: (vhost) => state(stateOf(vhost)) },
	{
		id: "tags",
		label: "Tags",
		cell: (vhost) =>
			badges(
				(vhost.tags ?? []).map((tag) => badge(tag, "Tag")),
				vhost.tracing && badge("firehose", "Messages are copied to exchange “amq.rabbitmq.trace”", "warn"),
				vhost.protected_from_deletion && badge("protected", "It cannot be deleted until the protection is lifted"),
			),
	},
	countColumn("ready", "Ready", "messages_ready", { cell: (vhost) => count(vhost.messages_ready ?? 0) }),
	countColumn("unacked", "Unacked", "messages_unacknowledged", {
		cell: (vhost) => count(vhost.messages_unacknowledged ?? 0),
	}),
	perSecond("in", "Published", "publish"),
	perSecond("out", "Delivered", "deliver_get"),
	octetsPerSecond("received", "Received", "recv_oct"),
	octetsPerSecond("sent", "Sent", "send_oct"),
	{
		id: "show",
		label: "Show",
		class: "end",
		cell: (vhost) => linksInto(vhost.name, ["queues", "exchanges", "connections"]),
	},
];

export const page = {
	title: () => "Virtual hosts",
	load: (ctx, get) => get("/api/vhosts"),
	view: (ctx, vhosts) => [
		heading("", "Virtual hosts", null, ctx.may("administrator") && addVHost(ctx)),
		list(ctx, {
			noun: "virtual host",
			columns: COLUMNS,
			envelope: pageHere(vhosts, COLUMNS, ctx.query, (vhost) => vhost.name),
			key: (vhost) => vhost.name,
			name: (vhost) => vhost.name,
		}),
	],
};
