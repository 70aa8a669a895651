// What can be done to queues: to one, or to those that are selected.

import { each, vhostNames } from "../lib/act.js";
import { path, put, remove } from "../lib/api.js";
import { ask, askButton, removeButton } from "../lib/form.js";
import { counted } from "../lib/format.js";
import { link } from "../lib/route.js";
import { h } from "../lib/view.js";
import { pauseActions, pauseButton } from "./pauses.js";

// "" leaves it to the virtual host.
const TYPES = [
	["", "as the virtual host says"],
	["classic", "classic"],
	["quorum", "quorum"],
	["stream", "stream: messages stay when they are read"],
];

// Field -> the argument it stands for.
const ARGUMENTS = [
	{ name: "x-message-ttl", label: "Messages expire after", type: "number", min: 0, hint: "milliseconds" },
	{ name: "x-expires", label: "Queue expires unused after", type: "number", min: 1, hint: "milliseconds" },
	{ name: "x-max-length", label: "Messages at most", type: "number", min: 0 },
	{
		name: "x-overflow",
		label: "When it is full",
		type: "select",
		options: [
			["", "drop the oldest"],
			["reject-publish", "refuse publishes"],
			["reject-publish-dlx", "refuse, dead-letter them"],
		],
	},
	{ name: "x-dead-letter-exchange", label: "Dead letter exchange" },
	{ name: "x-dead-letter-routing-key", label: "Dead letter routing key" },
	{ name: "x-max-priority", label: "Highest priority", type: "number", min: 1, max: 255 },
];

const STREAM_ARGUMENTS = [
	{ name: "x-max-age", label: "Messages are kept for", placeholder: "7D", hint: "a number with Y, M, D, h, m or s" },
	{ name: "x-max-length-bytes", label: "Octets at most", type: "number", min: 0, hint: "the oldest segments go" },
	{ name: "x-stream-max-segment-size-bytes", label: "Octets of a segment", type: "number", min: 1 },
];

// What a queue of a type can be declared with.
const declaration = (type) =>
	type === "stream"
		? STREAM_ARGUMENTS
		: type === "quorum"
			? ARGUMENTS.filter(({ name }) => name !== "x-max-priority")
			: [
					{ name: "durable", label: "Durable: survives a restart", type: "checkbox", value: true },
					{ name: "auto_delete", label: "Deleted with its last consumer", type: "checkbox" },
					...ARGUMENTS,
				];

export const addQueue = (ctx) =>
	askButton(ctx, "Add queue", "primary", async () => {
		const vhosts = await vhostNames(ctx);
		let type = "";
		const onchange = (event) => {
			type = event.target.value;
			ctx.draw();
		};
		return {
			title: "Add a queue",
			label: "Add",
			wide: true,
			fields: () => [
				{ name: "name", label: "Name", required: true },
				{ name: "vhost", label: "Virtual host", type: "select", options: vhosts, value: vhosts[0] },
				{ name: "x-queue-type", label: "Type", type: "select", options: TYPES, value: type, onchange },
				...declaration(type),
				{
					name: "more",
					label: "Further arguments",
					type: "json",
					full: true,
					placeholder: '{"x-single-active-consumer": true}',
				},
			],
			run: async ({ name, vhost, durable = true, auto_delete = false, more, ...chosen }) => {
				await put(path`/api/queues/${vhost}/${name}`, { durable, auto_delete, arguments: { ...chosen, ...more } });
				ctx.go(link("queues", [vhost, name]));
				return `Queue “${name}” added.`;
			},
		};
	});

/** Actions on selected queues, for the list. */
export function bulkActions(ctx, chosen) {
	const run = async (queues, done, act) => {
		const text = await each(queues, "queue", done, act);
		chosen.clear();
		return text;
	};
	const messages = (queues) => queues.reduce((sum, queue) => sum + (queue.messages ?? 0), 0);
	const purge = {
		label: "Purge …",
		run: (queues) =>
			ask(ctx, {
				title: `Purge ${counted(queues.length, "queue")}`,
				danger: true,
				label: "Purge",
				text: `Their ready messages are dropped; the queues have ${counted(messages(queues), "message")} now. Unacknowledged ones stay.`,
				run: () => run(queues, "purged", ({ vhost, name }) => remove(path`/api/queues/${vhost}/${name}/contents`)),
			}),
	};
	const erase = {
		label: "Delete …",
		danger: true,
		run: (queues) =>
			ask(ctx, {
				title: `Delete ${counted(queues.length, "queue")}`,
				danger: true,
				label: "Delete",
				text: `They have ${counted(messages(queues), "message")}, which are lost with them.`,
				confirm: messages(queues) ? `delete ${queues.length}` : undefined,
				run: () => run(queues, "deleted", ({ vhost, name }) => remove(path`/api/queues/${vhost}/${name}`)),
			}),
	};
	return [...(ctx.may("administrator") ? pauseActions(ctx, run) : []), purge, erase];
}

/** Buttons for the head of a queue's page. */
export function queueButtons(ctx, queue) {
	const { vhost, name } = queue;
	const place = path`/api/queues/${vhost}/${name}`;
	return [
		ctx.may("administrator") && pauseButton(ctx, queue),
		queue.type !== "stream" &&
			removeButton(ctx, "Purge …", () => ({
				title: `Purge queue ${name}`,
				text: `${counted(queue.messages_ready ?? 0, "ready message")} will be dropped. Unacknowledged ones stay.`,
				place: `${place}/contents`,
				done: `Queue “${name}” purged.`,
			})),
		removeButton(ctx, "Delete …", () => ({
			title: `Delete queue ${name}`,
			text: queue.messages
				? `${counted(queue.messages, "message")} will be lost with it.`
				: `It is empty and has ${counted(queue.consumers ?? 0, "consumer")}.`,
			confirm: queue.messages ? name : undefined,
			place,
			done: `Queue “${name}” deleted.`,
			page: "queues",
		})),
	];
}
