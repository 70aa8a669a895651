// One connection: its client, its traffic, its channels; of the stream protocol its publishers and consumers.

import { closeButton } from "../actions/connections.js";
import { path } from "../lib/api.js";
import { chart } from "../lib/chart.js";
import { count, moment, octetRate, octets } from "../lib/format.js";
import {
	ago,
	argumentsOf,
	facts,
	heading,
	section,
	sideBySide,
	state,
	tiles,
	userLink,
	vhostLink,
} from "../lib/parts.js";
import { rangeChoice, samplesOf, SHORT_RANGES } from "../lib/ranges.js";
import { latest, perSecond } from "../lib/series.js";
import { h } from "../lib/view.js";
import { channelsTable } from "./channels.js";
import { calledOf } from "./connections.js";
import { publishersTable, subscriptionsTable } from "./streaming.js";

const TRAFFIC = [
	["recv_oct", "Received"],
	["send_oct", "Sent"],
];

export const page = {
	title: ({ args: [name] }) => name,

	async load(ctx, get) {
		const [name] = ctx.args;
		const connection = await get(path`/api/connections/${name}`, samplesOf(ctx.query, "data_rates"));
		if (connection.protocol !== "stream")
			return { connection, channels: await get(path`/api/connections/${name}/channels`) };
		const [publishers, consumers] = await Promise.all([
			get(path`/api/stream/connections/${connection.vhost}/${name}/publishers`),
			get(path`/api/stream/connections/${connection.vhost}/${name}/consumers`),
		]);
		return { connection, publishers, consumers };
	},

	view(ctx, { connection, channels, publishers, consumers }) {
		const series = perSecond(ctx, connection, TRAFFIC);
		return [
			heading(
				"Connection",
				h("bdi", null, connection.name),
				calledOf(connection) && h("bdi", null, calledOf(connection)),
				rangeChoice(ctx, SHORT_RANGES),
				closeButton(ctx, connection),
			),
			tiles([
				{ label: "State", value: state(connection.state) },
				...TRAFFIC.map(([key, label], i) => ({
					label,
					value: octetRate(latest(series[i])),
					note: `${octets(connection[key])} in all`,
				})),
				...(channels
					? [{ label: "Channels", value: count(connection.channels ?? channels.length) }]
					: [
							{ label: "Publishers", value: count(publishers.length) },
							{ label: "Consumers", value: count(consumers.length) },
						]),
			]),
			sideBySide(
				chart(ctx, {
					id: "traffic",
					title: "Octets per second",
					unit: "octetRate",
					series,
				}),
				section(
					"Connection",
					facts([
						["User", userLink(connection.user)],
						["Virtual host", vhostLink(connection.vhost)],
						["Connected", `${moment(connection.connected_at)}, ${ago(connection.connected_at)}`],
						["From", `${connection.peer_host}:${connection.peer_port}`],
						["To", `${connection.host}:${connection.port}`],
						["Protocol", connection.protocol],
						["Login", connection.auth_mechanism],
						[
							"TLS",
							connection.ssl ? [connection.ssl_protocol, connection.ssl_cipher].filter(Boolean).join(", ") : "no",
						],
						["Certificate", connection.peer_cert_subject],
						["Heartbeat", connection.timeout ? `every ${connection.timeout} s` : "none"],
						["Frames up to", connection.frame_max ? octets(connection.frame_max) : "any size"],
						["Channels up to", channels && (connection.channel_max ? count(connection.channel_max) : "any number")],
					]),
				),
			),
			channels && section("Channels", channelsTable(ctx, channels)),
			publishers && section("Publishers", publishersTable(ctx, publishers)),
			consumers && section("Consumers", subscriptionsTable(ctx, consumers)),
			section(
				"Properties of the client",
				argumentsOf(connection.client_properties) ?? h("p", { class: "quiet" }, "None."),
			),
		];
	},
};
