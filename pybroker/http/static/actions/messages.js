// Messages of a queue, taken as a consumer takes them.

import { decoded, download } from "../lib/act.js";
import { path, post } from "../lib/api.js";
import { fieldRow, problem, valuesOf } from "../lib/form.js";
import { count, counted, lasting, octets, plain } from "../lib/format.js";
import { argumentsOf, badge, badges, connectionLink, exchangeLink, facts, section, sideBySide } from "../lib/parts.js";
import { h } from "../lib/view.js";
import { peekPart, whole } from "./peek.js";

const GET = [
	{ name: "count", label: "Messages", type: "number", min: 1, max: 1000, value: 1 },
	{
		name: "ackmode",
		label: "Then",
		type: "select",
		options: [
			["ack_requeue_true", "return them to their places"],
			["ack_requeue_false", "acknowledge them: they are gone"],
			["reject_requeue_true", "reject and return them"],
			["reject_requeue_false", "reject them: dead-letter or drop"],
		],
	},
];

/** The part of a queue's page. */
export function messagesPart(ctx, queue) {
	const state = (ctx.state.messages ??= { found: null, error: "", isBusy: false, hex: new Set() });
	const run = (fields, work) => async (event) => {
		event.preventDefault();
		Object.assign(state, { isBusy: true, error: "" });
		ctx.draw();
		try {
			state.found = await work(valuesOf(event.target, fields));
			state.hex.clear();
		} catch (error) {
			state.error = error.message;
		}
		state.isBusy = false;
		ctx.draw();
	};
	const take = run(GET, async ({ count: number = 1, ackmode = "ack_requeue_true" }) => {
		const messages = await post(path`/api/queues/${queue.vhost}/${queue.name}/get`, {
			count: number,
			ackmode,
			encoding: "auto",
		});
		ctx.refresh();
		return { title: `${counted(messages.length, "message")} taken`, messages: messages.map(asPeeked) };
	});
	return [
		sideBySide(
			peekPart(queue, run, state),
			// As in RabbitMQ, nobody gets a single message of a stream.
			queue.type !== "stream" && getPart(take, state),
		),
		problem(state.error),
		state.found &&
			section(
				h("span", { role: "status" }, state.found.title),
				state.found.messages.map((message, i) => messageView(ctx, queue, message, state.hex, i)),
			),
	];
}

const getPart = (onsubmit, { isBusy }) =>
	section(
		"Get messages",
		h("p", { class: "quiet" }, "As a consumer does: returned messages count as delivered once more."),
		h(
			"form",
			{ class: "inline", onsubmit },
			fieldRow(GET, "get"),
			h("div", { class: "buttons" }, h("button", { disabled: isBusy }, "Get")),
		),
	);

/** Bring a message of RabbitMQ's get into the shape of a peek. */
function asPeeked({
	payload,
	payload_bytes: size,
	payload_encoding: encoding,
	properties: { headers, ...properties },
	...rest
}) {
	return {
		...rest,
		properties,
		headers: headers ?? {},
		size,
		body: payload,
		body_format: encoding === "base64" ? "base64" : "text",
		body_cut: false,
	};
}

function messageView(ctx, queue, message, hex, i) {
	const isHex = hex.has(i);
	const canHex = message.body_format === "text" || message.body_format === "json";
	return h(
		"article",
		{ class: "message", key: message.position ?? i, "aria-label": `Message ${i + 1}` },
		h(
			"header",
			{ class: "row" },
			badges(
				message.position && badge(`position ${message.position}`, "Its place in the queue, to begin from"),
				message.state && badge(message.state, "Its state", message.state === "ready" ? "" : "warn"),
				message.redelivered &&
					badge("redelivered", `Deliveries so far: ${message.deliveries ?? "at least one"}`, "warn"),
				badge(octets(message.size), `${count(message.size)} octets of body`),
				message.age_ms !== undefined && badge(`${lasting(message.age_ms)} old`, `Arrived at ${message.arrived_at}`),
				message.expires_at && badge("expires", `At ${message.expires_at}`),
			),
			h(
				"span",
				{ class: "buttons" },
				canHex &&
					h(
						"button",
						{
							"aria-pressed": String(isHex),
							onclick: () => {
								if (isHex) hex.delete(i);
								else hex.add(i);
								ctx.draw();
							},
						},
						"Hex",
					),
				h("button", { onclick: () => save(ctx, queue, message) }, "Download"),
			),
		),
		facts([
			[
				"Published to",
				[exchangeLink(queue.vhost, message.exchange), " with key ", h("bdi", { class: "code" }, message.routing_key)],
			],
			[
				"Held by",
				message.connection && [
					connectionLink(message.connection, message.user_provided_name || message.connection),
					` since ${lasting(message.unacknowledged_ms)}`,
				],
			],
			["Properties", argumentsOf(message.properties)],
			["Headers", argumentsOf(message.headers)],
		]),
		h("pre", { class: "body", tabindex: "0", "aria-label": "Body" }, isHex ? dump(textOf(message)) : textOf(message)),
		message.body_cut && h("p", { class: "quiet" }, "This is its begin. Download it to have it whole."),
	);
}

const textOf = ({ body, body_format: format }) => (format === "json" ? JSON.stringify(body, null, 2) : plain(body));

/** Octets in hexadecimal, sixteen in a line. */
function dump(text) {
	const pairs = Array.from(new TextEncoder().encode(text), (octet) => octet.toString(16).padStart(2, "0"));
	return Array.from(
		{ length: Math.ceil(pairs.length / 16) },
		(_, line) => `${(16 * line).toString(16).padStart(6, "0")}  ${pairs.slice(16 * line, 16 * line + 16).join(" ")}`,
	).join("\n");
}

async function save(ctx, queue, message) {
	const type = message.properties.content_type ?? "application/octet-stream";
	try {
		const parts =
			message.position === undefined
				? [message.body_format === "base64" ? decoded(message.body) : message.body]
				: await whole(queue, message.position);
		download(`message-${message.position ?? "taken"}`, parts, type);
	} catch (error) {
		ctx.notice(error.message);
	}
}
