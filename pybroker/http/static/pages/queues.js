// Queues: a page of them, by name or by figures.

import { countColumn, octetsColumn, perSecond, rateColumn, VHOST_COLUMN } from "../lib/columns.js";
import { lasting } from "../lib/format.js";
import { addQueue, bulkActions } from "../actions/queues.js";
import { badge, badges, heading, inVHost, queueLink, state, userLink } from "../lib/parts.js";
import { keysOf, list, pageOf } from "../lib/table.js";
import { path } from "../lib/api.js";

/** Short words about how a queue was declared. */
export function features(queue) {
	const { arguments: args = {} } = queue;
	return badges(
		queue.type && queue.type !== "classic" && badge(queue.type, "Type of the queue"),
		queue.durable && badge("D", "Durable: survives a restart"),
		queue.auto_delete && badge("AD", "Deleted with its last consumer"),
		queue.exclusive && badge("Excl", "Used by one connection, and deleted with it"),
		args["x-max-age"] !== undefined && badge("Age", `Messages are kept for ${args["x-max-age"]}`),
		args["x-dead-letter-exchange"] !== undefined &&
			badge("DLX", `Dead letters go to exchange “${args["x-dead-letter-exchange"]}”`),
		args["x-message-ttl"] !== undefined && badge("TTL", `Messages expire after ${lasting(args["x-message-ttl"])}`),
		(args["x-max-length"] ?? args["x-max-length-bytes"]) !== undefined && badge("Lim", "Its length is limited"),
		args["x-max-priority"] !== undefined && badge("Pri", `Priorities up to ${args["x-max-priority"]}`),
		queue.paused && badge("Paused", `Paused: ${queue.paused}. ${queue.paused_why ?? ""}`, "warn"),
	);
}

const FEATURES = ["type", "durable", "auto_delete", "exclusive", "arguments", "paused", "paused_why"];

const COLUMNS = [
	{ id: "name", label: "Name", sort: "name", class: "name", cell: (queue) => queueLink(queue.vhost, queue.name) },
	VHOST_COLUMN,
	{ id: "features", label: "Features", needs: FEATURES, class: "wide", cell: features },
	{ id: "policy", label: "Policy", sort: "policy", off: true, cell: (queue) => queue.policy ?? "" },
	{ id: "state", label: "State", sort: "state", off: true, cell: (queue) => state(queue.state) },
	countColumn("ready", "Ready", "messages_ready"),
	countColumn("unacked", "Unacked", "messages_unacknowledged", { hint: "Delivered, not yet acknowledged" }),
	countColumn("delayed", "Delayed", "messages_delayed", { off: true, hint: "Waiting until their retry" }),
	countColumn("total", "Total", "messages"),
	rateColumn("growth", "Growth", "messages_details.rate", {
		off: true,
		hint: "Messages more, or fewer, each second",
	}),
	{
		id: "age",
		label: "Head age",
		sort: "head_age_ms",
		num: true,
		hint: "How long the oldest ready message has been waiting",
		cell: (queue) => lasting(queue.head_age_ms || undefined),
	},
	rateColumn("in", "Incoming", "in_rate_10s", { hint: "Messages that came, over the last 10 seconds" }),
	rateColumn("out", "Outgoing", "out_rate_10s", { hint: "Messages that left, over the last 10 seconds" }),
	perSecond("delivered", "Delivered", "deliver_get", { off: true }),
	perSecond("acked", "Acked", "ack", { off: true }),
	perSecond("redelivered", "Redelivered", "redeliver", { off: true }),
	countColumn("dead", "Dead letters", "dead_lettered", {
		off: true,
		hint: "Messages that left for the dead letter exchange since the node started",
	}),
	countColumn("consumers", "Consumers", "consumers"),
	octetsColumn("bytes", "Octets", "message_bytes", { off: true, hint: "Octets of all bodies" }),
	countColumn("persistent", "Persistent", "messages_persistent", { off: true }),
	countColumn("ram", "In memory", "messages_ram", { off: true }),
	octetsColumn("memory", "Memory", "memory", { off: true }),
	{
		id: "owner",
		label: "Owner",
		needs: ["owner_pid_details.user"],
		off: true,
		cell: (queue) => userLink(queue.owner_pid_details?.user),
	},
];

// Lists that answer a question.
const PRESETS = [
	{ id: "", label: "All" },
	{ id: "longest", label: "Longest", hint: "Most messages first", by: "total" },
	{
		id: "growing",
		label: "Growing",
		hint: "Those that get longer, the fastest first",
		by: "growth",
		where: "messages_details.rate>0",
		none: "No queue grows now.",
	},
	{
		id: "old",
		label: "Old head",
		hint: "Those with ready messages, the longest wait first",
		by: "age",
		where: "head_age_ms>0",
		none: "No queue has a ready message.",
	},
	{
		id: "unserved",
		label: "No consumer",
		hint: "Those that nobody consumes from, most messages first",
		by: "total",
		where: "consumers==0",
		none: "Each queue has a consumer.",
	},
	{
		id: "dead",
		label: "Dead letters",
		hint: "Those whose messages became dead letters since the node started, most first",
		by: "dead",
		where: "dead_lettered>0",
		none: "No message of a queue became a dead letter since the node started.",
	},
];

export const page = {
	title: () => "Queues",

	load: (ctx, get) => {
		const base = ctx.query.vhost ? path`/api/queues/${ctx.query.vhost}` : "/api/queues";
		const columns = keysOf(COLUMNS, ctx.query, PRESETS, "name", "vhost", "messages");
		return get(base, { ...pageOf(COLUMNS, ctx.query, PRESETS), columns });
	},

	view(ctx, envelope) {
		const chosen = (ctx.state.chosen ??= new Map());
		return [
			heading("", "Queues", inVHost(ctx), addQueue(ctx)),
			list(ctx, {
				noun: "queue",
				columns: COLUMNS,
				envelope,
				presets: PRESETS,
				empty: "There are no queues here yet. Applications declare them, or you add one.",
				key: (queue) => `${queue.vhost}\n${queue.name}`,
				name: (queue) => queue.name,
				selection: { chosen, actions: bulkActions(ctx, chosen) },
			}),
		];
	},
};
