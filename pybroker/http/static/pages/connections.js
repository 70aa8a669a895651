// Connections: who is here, and how much comes and goes.

import { closeActions } from "../actions/connections.js";
import { countColumn, octetsColumn, octetsPerSecond, VHOST_COLUMN } from "../lib/columns.js";
import { moment } from "../lib/format.js";
import { path } from "../lib/api.js";
import { ago, connectionLink, heading, inVHost, state, userLink } from "../lib/parts.js";
import { list, pageOf } from "../lib/table.js";
import { h } from "../lib/view.js";

const clientOf = ({ client_properties: client }) =>
	[client?.product, client?.version].filter((one) => typeof one === "string").join(" ");
export const calledOf = ({ client_properties: client }) =>
	typeof client?.connection_name === "string" ? client.connection_name : "";

const COLUMNS = [
	{
		id: "name",
		label: "Name",
		sort: "name",
		class: "name",
		cell: (one) => [
			connectionLink(one.name, calledOf(one) || one.name),
			calledOf(one) && h("small", null, h("bdi", null, one.name)),
		],
	},
	VHOST_COLUMN,
	{ id: "user", label: "User", sort: "user", cell: (one) => userLink(one.user) },
	{ id: "state", label: "State", sort: "state", cell: (one) => state(one.state) },
	{ id: "tls", label: "TLS", sort: "ssl", off: true, cell: (one) => (one.ssl ? (one.ssl_protocol ?? "yes") : "no") },
	{ id: "protocol", label: "Protocol", sort: "protocol", off: true, cell: (one) => one.protocol },
	countColumn("channels", "Channels", "channels"),
	octetsPerSecond("in", "Received", "recv_oct"),
	octetsPerSecond("out", "Sent", "send_oct"),
	octetsColumn("received", "Received in all", "recv_oct", { off: true }),
	octetsColumn("sent", "Sent in all", "send_oct", { off: true }),
	{
		id: "heartbeat",
		label: "Heartbeat",
		sort: "timeout",
		num: true,
		off: true,
		cell: (one) => (one.timeout ? `${one.timeout} s` : "none"),
	},
	{ id: "client", label: "Client", class: "wrap wide", cell: (one) => h("bdi", null, clientOf(one)) },
	{
		id: "since",
		label: "Connected",
		sort: "connected_at",
		num: true,
		cell: (one) => h("span", { title: moment(one.connected_at) }, ago(one.connected_at)),
	},
];

export const page = {
	title: () => "Connections",

	load: (ctx, get) =>
		get(
			ctx.query.vhost ? path`/api/vhosts/${ctx.query.vhost}/connections` : "/api/connections",
			pageOf(COLUMNS, ctx.query),
		),

	view(ctx, envelope) {
		const chosen = (ctx.state.chosen ??= new Map());
		return [
			heading("", "Connections", inVHost(ctx)),
			list(ctx, {
				noun: "connection",
				empty: "No application is connected here.",
				columns: COLUMNS,
				envelope,
				key: (one) => one.name,
				name: (one) => one.name,
				selection: { chosen, actions: closeActions(ctx, chosen) },
			}),
		];
	},
};
