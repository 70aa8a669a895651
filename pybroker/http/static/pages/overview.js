// Overview: what the node has, how fast it works, and what of it is used up.

import { chart, latest, meter, rangeChoice, samplesOf } from "../lib/chart.js";
import { count, lasting, octets, rate, rateOf } from "../lib/format.js";
import { badge, facts, heading, section, tiles } from "../lib/parts.js";
import { link } from "../lib/route.js";
import { levels, perSecond, queued } from "../lib/series.js";
import { table } from "../lib/table.js";
import { h } from "../lib/view.js";

const MESSAGES = [
	["publish", "Published"],
	["deliver_get", "Delivered"],
	["ack", "Acknowledged"],
	["confirm", "Confirmed"],
	["redeliver", "Redelivered"],
	["return_unroutable", "Returned"],
	["drop_unroutable", "Dropped, unroutable"],
];
const CHURN = [
	["connection_created", "Connections opened"],
	["connection_closed", "Connections closed"],
	["channel_created", "Channels opened"],
	["channel_closed", "Channels closed"],
	["queue_declared", "Queues declared"],
	["queue_created", "Queues created"],
	["queue_deleted", "Queues deleted"],
];

export const page = {
	title: () => "Overview",

	async load(ctx, get) {
		const [overview, nodes] = await Promise.all([
			get("/api/overview", samplesOf(ctx.query, "msg_rates", "lengths")),
			ctx.may("monitoring") ? get("/api/nodes", samplesOf(ctx.query, "node_stats")) : [],
		]);
		return { overview, nodes };
	},

	view(ctx, { overview, nodes }) {
		const series = perSecond(ctx, overview.message_stats, MESSAGES);
		return [
			heading(
				"Node",
				h("bdi", null, overview.node),
				overview.cluster_name === overview.node ? null : `Cluster ${overview.cluster_name}`,
				rangeChoice(ctx),
			),
			summary(overview, series),
			h(
				"div",
				{ class: "columns" },
				chart(ctx, { id: "lengths", title: "Messages in queues", series: queued(ctx, overview.queue_totals) }),
				chart(ctx, {
					id: "rates",
					title: "Messages per second",
					unit: "rate",
					series,
				}),
			),
			nodes.map((node) => nodeParts(ctx, node, overview)),
		];
	},
};

function summary({ queue_totals: totals, object_totals: objects }, [published, delivered]) {
	return tiles([
		{ label: "Ready", value: count(totals.messages_ready ?? 0) },
		{ label: "Unacknowledged", value: count(totals.messages_unacknowledged ?? 0) },
		{ label: "Published", value: rate(latest(published)) },
		{ label: "Delivered", value: rate(latest(delivered)) },
		{ label: "Queues", value: count(objects.queues), href: link("queues") },
		{ label: "Consumers", value: count(objects.consumers), href: link("queues", [], { sort: "consumers", desc: "1" }) },
		{ label: "Connections", value: count(objects.connections), href: link("connections") },
		{ label: "Channels", value: count(objects.channels), href: link("channels") },
		{ label: "Exchanges", value: count(objects.exchanges), href: link("exchanges") },
	]);
}

function nodeParts(ctx, node, overview) {
	if (!node.running) return section(h("bdi", null, node.name), h("p", null, "This node does not run."));
	return h(
		"div",
		{ class: "columns", key: node.name },
		section(
			"Resources",
			h(
				"div",
				{ class: "meters" },
				meter({ label: "Memory", value: node.mem_used, max: node.mem_limit, full: octets, isBad: node.mem_alarm }),
				meter({ label: "File descriptors", value: node.fd_used, max: node.fd_total }),
				node.sockets_total ? meter({ label: "Sockets", value: node.sockets_used, max: node.sockets_total }) : null,
			),
			facts([
				[
					"Disk free",
					h(
						"span",
						{ class: node.disk_free_alarm ? "bad" : null },
						`${octets(node.disk_free)}, publishers are blocked below ${octets(node.disk_free_limit)}`,
					),
				],
				["Running for", lasting(node.uptime)],
				[
					"Version",
					`${overview.product_name ?? "RabbitMQ"} ${overview.product_version ?? overview.rabbitmq_version}, compatible with RabbitMQ ${overview.rabbitmq_version}`,
				],
				["Runtime", overview.erlang_full_version],
				["Process id", node.os_pid],
				[
					"Listeners",
					h(
						"span",
						{ class: "badges" },
						overview.listeners.map((one) => badge(`${one.protocol} ${one.port}`, `${one.ip_address}:${one.port}`)),
					),
				],
			]),
		),
		h(
			"div",
			{ class: "stack" },
			chart(ctx, {
				id: "memory",
				title: "Memory",
				unit: "octets",
				series: [
					{ name: "Used", now: node.mem_used, points: levels(ctx, "memory", node.mem_used, node.mem_used_details) },
				],
			}),
			section(
				"Opened and closed",
				table(ctx, {
					caption: "Opened and closed",
					isPlain: true,
					rows: CHURN.filter(([key]) => overview.churn_rates?.[key] !== undefined),
					key: ([key]) => key,
					columns: [
						{ label: "Event", cell: ([, name]) => name },
						{ label: "In all", num: true, cell: ([key]) => count(overview.churn_rates[key]) },
						{ label: "Now", num: true, cell: ([key]) => rate(rateOf(overview.churn_rates, key)) },
					],
				}),
			),
		),
	);
}
