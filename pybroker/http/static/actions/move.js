// Moves of messages: to another queue or exchange, or dead letters back to where they died. First a rehearsal, then the move.

import { path, stream } from "../lib/api.js";
import { fieldRow, problem, valuesOf } from "../lib/form.js";
import { count } from "../lib/format.js";
import { section, sideBySide } from "../lib/parts.js";
import { h } from "../lib/view.js";

const LIMITS = [
	{ name: "number", label: "Messages at most", type: "number", min: 1 },
	{ name: "rate", label: "Rate", placeholder: "500/s", hint: "Messages per second at most" },
];
const MOVE = [
	{
		name: "kind",
		label: "To",
		type: "select",
		options: [
			["to", "a queue"],
			["to_exchange", "an exchange"],
		],
	},
	{ name: "target", label: "Its name", required: true },
	{ name: "routing_key", label: "Routing key", hint: "For an exchange; else that of each message" },
	{ name: "where", label: "Only with header", placeholder: "country=fr" },
	{ name: "older_than", label: "Only older than", placeholder: "5m" },
	...LIMITS,
];
const REDRIVE = [
	{
		name: "reason",
		label: "Only those that were",
		type: "select",
		options: [
			["", "anything"],
			["rejected", "rejected"],
			["expired", "expired"],
			["maxlen", "too many"],
			["delivery_limit", "delivered too often"],
		],
	},
	{ name: "origin", label: "Only of queue" },
	{ name: "through_exchange", label: "Publish to the original exchange instead", type: "checkbox" },
	...LIMITS,
];

/** The part of a queue's page. */
export function movePart(ctx, queue) {
	return sideBySide(
		work(ctx, "move", {
			title: "Move messages",
			fields: MOVE,
			place: path`/api/pybroker/queues/${queue.vhost}/${queue.name}/move`,
			body: ({ kind = "to", target, where, ...rest }) => ({
				...rest,
				[kind]: target,
				...(where ? { where: [where] } : {}),
			}),
			text: "Each message leaves this queue when its target has it safely.",
		}),
		work(ctx, "redrive", {
			title: "Redrive dead letters",
			fields: REDRIVE,
			place: path`/api/pybroker/queues/${queue.vhost}/${queue.name}/redrive`,
			body: (values) => values,
			text: "Dead letters go back to the queues in which they died.",
		}),
	);
}

function work(ctx, id, { title, fields, place, body, text }) {
	const state = (ctx.state[id] ??= { error: "", result: null, progress: null, stop: null, rehearsed: "" });
	const run = async (form, isRehearsal) => {
		const wanted = body(valuesOf(form, fields));
		const stop = new AbortController();
		Object.assign(state, { error: "", result: null, progress: [0, 0], stop });
		ctx.draw();
		try {
			for await (const line of stream(place, { ...wanted, dry_run: isRehearsal }, stop.signal)) {
				if (line.progress) state.progress = line.progress;
				else if (line.error) state.error = line.error.reason;
				else if (line.value) state.result = line.value;
				ctx.draw();
			}
			if (isRehearsal && state.result) state.rehearsed = JSON.stringify(wanted);
			else state.rehearsed = "";
		} catch (error) {
			state.error =
				error.name === "AbortError" ? "Stopped. Messages that were moved before stay moved." : error.message;
		}
		Object.assign(state, { progress: null, stop: null });
		ctx.refresh();
	};
	const onsubmit = (event) => {
		event.preventDefault();
		run(event.target, event.submitter?.value !== "now");
	};
	// What was rehearsed may be done; what was changed since has to be rehearsed again.
	const forget = () => {
		if (!state.rehearsed) return;
		state.rehearsed = "";
		ctx.draw();
	};
	const [done, total] = state.progress ?? [];
	return section(
		title,
		h("p", { class: "quiet" }, text),
		h(
			"form",
			{ class: "inline", onsubmit, oninput: forget },
			fieldRow(fields, id),
			h(
				"div",
				{ class: "buttons" },
				h(
					"button",
					{ class: state.rehearsed ? null : "primary", value: "dry", disabled: Boolean(state.stop) },
					"Dry run",
				),
				state.rehearsed && h("button", { class: "primary", value: "now", disabled: Boolean(state.stop) }, title),
				state.stop && h("button", { type: "button", class: "danger", onclick: () => state.stop.abort() }, "Stop"),
			),
		),
		state.progress &&
			h(
				"div",
				{ role: "status" },
				h("progress", total ? { value: done, max: total, "aria-label": title } : { "aria-label": title }),
				`${count(done)} of ${count(total)}`,
			),
		problem(state.error),
		state.result && h("pre", { role: "status" }, state.result.message),
	);
}
