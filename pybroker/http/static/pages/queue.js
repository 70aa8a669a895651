// One queue: its figures, who takes from it, where its messages come from, and the messages themselves.

import { messagesPart } from "../actions/messages.js";
import { movePart } from "../actions/move.js";
import { publishPart } from "../actions/publish.js";
import { bindForm, unbind } from "../actions/exchanges.js";
import { queueButtons } from "../actions/queues.js";
import { path } from "../lib/api.js";
import { chart } from "../lib/chart.js";
import { count, lasting, moment, octets, rate } from "../lib/format.js";
import {
	argumentsOf,
	connectionLink,
	exchangeLink,
	facts,
	heading,
	nameOf,
	section,
	sideBySide,
	state,
	tabs,
	tiles,
	vhostLink,
} from "../lib/parts.js";
import { rangeChoice, samplesOf, SHORT_RANGES } from "../lib/ranges.js";
import { kept, perSecond, queued } from "../lib/series.js";
import { h } from "../lib/view.js";
import { bindingsTable } from "./bindings.js";
import { consumersTable } from "./consumers.js";
import { features } from "./queues.js";
import { publishersTable } from "./streaming.js";

const MESSAGES = [
	["publish", "Incoming"],
	["deliver_get", "Delivered"],
	["ack", "Acknowledged"],
	["redeliver", "Redelivered"],
];

const STREAM_MESSAGES = [
	["publish", "Incoming"],
	["deliver_get", "Delivered"],
	["ack", "Acknowledged"],
];

export const page = {
	title: ({ args: [, name] }) => name,

	async load(ctx, get) {
		const [vhost, name] = ctx.args;
		const [queue, bindings, publishers] = await Promise.all([
			get(path`/api/queues/${vhost}/${name}`, samplesOf(ctx.query, "msg_rates", "lengths")),
			ctx.query.tab === "bindings" ? get(path`/api/queues/${vhost}/${name}/bindings`) : [],
			ctx.query.tab === "publishers" ? get(path`/api/stream/publishers/${vhost}/${name}`) : [],
		]);
		return { queue, bindings, publishers };
	},

	view(ctx, { queue, bindings, publishers }) {
		const tab = ctx.query.tab ?? "figures";
		return [
			heading(
				"Queue",
				nameOf(queue.name),
				["in ", vhostLink(queue.vhost), " ", features(queue)],
				tab === "figures" && rangeChoice(ctx, SHORT_RANGES),
				queueButtons(ctx, queue),
			),
			queue.paused && pausedNote(queue),
			tabs(ctx, [
				{ id: "figures", label: "Figures" },
				{ id: "consumers", label: "Consumers", number: queue.consumers ?? 0 },
				queue.type === "stream" && { id: "publishers", label: "Publishers" },
				{ id: "bindings", label: "Bindings" },
				{ id: "messages", label: "Messages" },
				{ id: "publish", label: "Publish" },
				ctx.may("administrator") && queue.type !== "stream" && { id: "move", label: "Move and redrive" },
			]),
			tab === "figures" && (queue.type === "stream" ? streamFigures(ctx, queue) : figures(ctx, queue)),
			tab === "consumers" &&
				section(
					"Consumers",
					consumersTable(ctx, queue.consumer_details ?? [], {
						withQueue: false,
						withOffsets: queue.type === "stream",
					}),
				),
			tab === "publishers" && section("Publishers", publishersTable(ctx, publishers, { withStream: false })),
			tab === "bindings" &&
				section(
					"Bindings to this queue",
					bindingsTable(ctx, bindings, { withDestination: false, extra: unbind(ctx) }),
					bindForm(ctx, { vhost: queue.vhost, destination: queue.name }),
				),
			tab === "messages" && messagesPart(ctx, queue),
			tab === "publish" && publishPart(ctx, { vhost: queue.vhost, exchange: "amq.default", key: queue.name }),
			tab === "move" && movePart(ctx, queue),
		];
	},
};

function pausedNote(queue) {
	const who =
		queue.paused === "publish"
			? "Publishers wait"
			: queue.paused === "consume"
				? "Consumers wait"
				: "Publishers and consumers wait";
	return h(
		"div",
		{ class: "banner", role: "status" },
		h("strong", null, "Paused"),
		h("p", null, `${who}: ${queue.paused_why}. Paused by ${queue.paused_by} at ${moment(queue.paused_since_ms)}.`),
	);
}

function streamFigures(ctx, queue) {
	const behind = Math.max(0, ...(queue.consumer_details ?? []).map(({ lag }) => lag ?? 0));
	return [
		tiles([
			{ label: "Messages", value: count(queue.messages) },
			{ label: "First offset", value: count(queue.first_offset) },
			{ label: "Last offset", value: queue.messages ? count(queue.committed_offset) : "none" },
			{ label: "Segments", value: count(queue.segments), note: octets(queue.message_bytes) },
			{ label: "Incoming", value: rate(queue.in_rate_10s) },
			{ label: "Consumers", value: count(queue.consumers), href: ctx.here({ tab: "consumers" }) },
			queue.consumers > 0 && {
				label: "Slowest is behind by",
				value: count(behind),
				note: "messages",
				href: ctx.here({ tab: "consumers" }),
			},
		]),
		sideBySide(
			chart(ctx, { id: "stream-length", title: "Messages", series: kept(ctx, queue) }),
			chart(ctx, {
				id: "stream-rates",
				title: "Messages per second",
				unit: "rate",
				series: perSecond(ctx, queue.message_stats, STREAM_MESSAGES),
			}),
		),
		sideBySide(
			declared(queue),
			section(
				"Messages",
				facts([
					["Octets on disk", octets(queue.message_bytes)],
					["Newest chunk written", queue.last_chunk_at && moment(queue.last_chunk_at)],
					["To be acknowledged", count(queue.messages_unacknowledged)],
					["Memory of the stream", octets(queue.memory)],
				]),
			),
		),
	];
}

function declared(queue) {
	return section(
		"Declaration",
		facts([
			["State", state(queue.state)],
			["Type", queue.type],
			["Arguments", argumentsOf(queue.arguments)],
			["Policy", queue.policy],
			["Operator policy", queue.operator_policy],
			["In force", argumentsOf(queue.effective_policy_definition)],
			["Dead letters go to", letters(queue)],
			["Owner", queue.owner_pid_details?.name && connectionLink(queue.owner_pid_details.name)],
			["Idle since", queue.idle_since && moment(queue.idle_since)],
		]),
	);
}

function figures(ctx, queue) {
	return [
		tiles([
			{ label: "Ready", value: count(queue.messages_ready) },
			{ label: "Unacknowledged", value: count(queue.messages_unacknowledged) },
			queue.messages_delayed > 0 && {
				label: "Delayed",
				value: count(queue.messages_delayed),
				note: "until their retry",
			},
			{
				label: "Head age",
				value: lasting(queue.head_age_ms || undefined),
				note: queue.head_age_ms ? "oldest ready message" : null,
			},
			queue.time_to_drain_s > 0 && {
				label: "Empty in",
				value: lasting(1000 * queue.time_to_drain_s),
				note: "at the present rates",
			},
			typeof queue.time_to_full_s === "number" && {
				label: "Full in",
				value: lasting(1000 * queue.time_to_full_s),
				note: "at the present rates",
				kind: "warn",
			},
			{ label: "Incoming", value: rate(queue.in_rate_10s) },
			{ label: "Outgoing", value: rate(queue.out_rate_10s) },
			{
				label: "Consumers",
				value: count(queue.consumers),
				href: ctx.here({ tab: "consumers" }),
				kind: queue.consumers ? "" : "warn",
			},
		]),
		sideBySide(
			chart(ctx, { id: "queue-lengths", title: "Messages", series: queued(ctx, queue) }),
			chart(ctx, {
				id: "queue-rates",
				title: "Messages per second",
				unit: "rate",
				series: perSecond(ctx, queue.message_stats, MESSAGES),
			}),
		),
		sideBySide(
			declared(queue),
			section(
				"Messages",
				facts([
					["Octets", octets(queue.message_bytes)],
					["Octets, ready", octets(queue.message_bytes_ready)],
					["Octets, unacknowledged", octets(queue.message_bytes_unacknowledged)],
					["Persistent", `${count(queue.messages_persistent)}, ${octets(queue.message_bytes_persistent)}`],
					["In memory", `${count(queue.messages_ram)}, ${octets(queue.message_bytes_ram)}`],
					["Paged out", `${count(queue.messages_paged_out)}, ${octets(queue.message_bytes_paged_out)}`],
					["Dead letters on their way", queue.messages_dlx > 0 ? count(queue.messages_dlx) : null],
					["Became dead letters", queue.dead_lettered > 0 ? count(queue.dead_lettered) : null],
					["Memory of the queue", octets(queue.memory)],
				]),
			),
		),
	];
}

function letters({ vhost, arguments: args, effective_policy_definition: policy }) {
	const exchange = args?.["x-dead-letter-exchange"] ?? policy?.["dead-letter-exchange"];
	if (exchange === undefined) return null;
	const key = args?.["x-dead-letter-routing-key"] ?? policy?.["dead-letter-routing-key"];
	return [
		exchangeLink(vhost, exchange),
		key === undefined ? " with their own routing keys" : [" with key ", h("bdi", null, `“${key}”`)],
	];
}
