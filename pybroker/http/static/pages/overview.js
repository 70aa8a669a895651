// Overview: what the node has, how fast it works, and what of it is used up.

import { chart } from "../lib/chart.js";
import { count, lasting, octets, rate, rateOf } from "../lib/format.js";
import { badge, facts, heading, section, sideBySide, tiles } from "../lib/parts.js";
import { rangeChoice, samplesOf } from "../lib/ranges.js";
import { link } from "../lib/route.js";
import { latest, levels, perSecond, queued } from "../lib/series.js";
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
// What comes and goes, the counter of those that came, and of those that went.
const CHURN = [
	["Connections", "connection_created", "connection_closed"],
	["Channels", "channel_created", "channel_closed"],
	["Queues", "queue_created", "queue_deleted"],
	["Declarations of queues", "queue_declared", ""],
];
const NEARLY_FULL = 0.85;

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
			sideBySide(
				chart(ctx, { id: "lengths", title: "Messages in queues", series: queued(ctx, overview.queue_totals) }),
				chart(ctx, {
					id: "rates",
					title: "Messages per second",
					unit: "rate",
					series,
				}),
			),
			nodes.map((node) => nodeParts(ctx, node, overview)),
			nodes.length > 0 && section("Churn", churnTable(ctx, overview.churn_rates ?? {})),
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
				["Listeners", h("span", { class: "badges" }, listeners(overview.listeners))],
			]),
		),
		chart(ctx, {
			id: "memory",
			title: "Memory",
			unit: "octets",
			series: [
				{ name: "Used", now: node.mem_used, points: levels(ctx, "memory", node.mem_used, node.mem_used_details) },
			],
		}),
	);
}

/** How much of a limit is used: a bar with its figures in words. */
function meter({ label, value, max, full = count, isBad = false }) {
	const part = max ? Math.min(1, value / max) : 0;
	return h(
		"div",
		{ class: `meter${isBad ? " bad" : part > NEARLY_FULL ? " warn" : ""}` },
		h("span", null, label),
		h("span", { class: "figures" }, `${full(value)} of ${full(max)}`),
		h(
			"svg",
			{ viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
			h("rect", { class: "all", width: 100, height: 4 }),
			h("rect", { class: "part", width: (100 * part).toFixed(2), height: 4 }),
		),
	);
}

/** A badge for each protocol and port; its tooltip has the addresses, of which there may be several. */
function listeners(all) {
	const addresses = Map.groupBy(all, ({ protocol, port }) => `${protocol} ${port}`);
	return [...addresses].map(([text, ones]) => badge(text, ones.map((one) => one.ip_address).join(", ")));
}

function churnTable(ctx, churn) {
	const figures = (key) => (churn[key] === undefined ? "" : count(churn[key]));
	const now = (key) => (churn[key] === undefined ? "" : rate(rateOf(churn, key)));
	return table(ctx, {
		caption: "Churn",
		isPlain: true,
		rows: CHURN,
		key: ([name]) => name,
		columns: [
			{ label: h("span", { class: "sr" }, "What"), cell: ([name]) => name },
			{ label: "Opened or created", num: true, cell: ([, came]) => figures(came) },
			{ label: "Per second", num: true, cell: ([, came]) => now(came) },
			{ label: "Closed or deleted", num: true, cell: ([, , went]) => figures(went) },
			{ label: "Per second", num: true, cell: ([, , went]) => now(went) },
		],
	});
}
