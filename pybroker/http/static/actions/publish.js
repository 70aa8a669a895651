// The form that publishes a message.

import { path, post } from "../lib/api.js";
import { fieldRow, problem, valuesOf } from "../lib/form.js";
import { section } from "../lib/parts.js";
import { h } from "../lib/view.js";

const PROPERTIES = [
	{ name: "content_type", label: "Content type", placeholder: "application/json" },
	{ name: "message_id", label: "Message id" },
	{ name: "correlation_id", label: "Correlation id" },
	{ name: "reply_to", label: "Reply to" },
	{ name: "expiration", label: "Expires after", hint: "milliseconds" },
	{ name: "priority", label: "Priority", type: "number", min: 0, max: 255 },
	{ name: "type", label: "Type" },
];

/** The part of a page about an exchange, or, with a fixed `key`, about a queue. */
export function publishPart(ctx, { vhost, exchange, key }) {
	const state = (ctx.state.publish ??= { error: "", said: "", isBusy: false });
	const fields = [
		...(key === undefined ? [{ name: "routing_key", label: "Routing key" }] : []),
		{ name: "persistent", label: "Persistent", type: "checkbox", value: true },
		{ name: "headers", label: "Headers", type: "json", full: true, rows: 2, placeholder: '{"country": "fr"}' },
		...PROPERTIES,
		{ name: "payload", label: "Body", type: "area", rows: 8, full: true },
		{ name: "isBinary", label: "The body is in base64", type: "checkbox" },
	];
	const publish = async (event) => {
		event.preventDefault();
		Object.assign(state, { isBusy: true, error: "", said: "" });
		ctx.draw();
		try {
			const {
				routing_key: chosen = "",
				persistent,
				headers,
				payload = "",
				isBinary,
				...properties
			} = valuesOf(event.target, fields);
			const answer = await post(path`/api/exchanges/${vhost}/${exchange}/publish`, {
				routing_key: key ?? chosen,
				payload,
				payload_encoding: isBinary ? "base64" : "string",
				properties: { ...properties, ...(headers ? { headers } : {}), delivery_mode: persistent ? 2 : 1 },
			});
			state.said = answer.routed ? "Published." : "Published, but no queue took it.";
			ctx.refresh();
		} catch (error) {
			state.error = error.message;
		}
		state.isBusy = false;
		ctx.draw();
	};
	return section(
		"Publish a message",
		key !== undefined &&
			h("p", { class: "quiet" }, "Through the default exchange, with the name of the queue as its routing key."),
		h(
			"form",
			{ class: "inline", onsubmit: publish },
			fieldRow(fields, "publish"),
			problem(state.error),
			h(
				"div",
				{ class: "buttons" },
				h("button", { class: "primary", disabled: state.isBusy }, "Publish"),
				h("span", { role: "status" }, state.said),
			),
		),
	);
}
