// A trace: messages are followed, event by event, until they have settled or time is up.

import { vhostNames } from "../lib/act.js";
import { stream } from "../lib/api.js";
import { fieldRow, problem, valuesOf } from "../lib/form.js";
import { clock } from "../lib/format.js";
import { heading, section } from "../lib/parts.js";
import { table } from "../lib/table.js";
import { h } from "../lib/view.js";

const EVENTS_MAX = 200;
const FIELDS = (vhosts) => [
	{ name: "vhost", label: "Virtual host", type: "select", options: vhosts },
	{ name: "queue", label: "That reach queue" },
	{ name: "exchange", label: "Published to exchange", placeholder: "amq.default" },
	{ name: "header", label: "With header", placeholder: "customer=4711" },
	{ name: "number", label: "How many", type: "number", min: 1, max: 1000, value: 1 },
	{ name: "duration", label: "For at most", value: "10m" },
];
// One at a time, kept while other pages are shown.
const trace = { stop: null, events: [], error: "", left: 0 };

export const page = {
	title: () => "Trace",

	load: async (ctx) => ({ vhosts: await vhostNames(ctx) }),

	view(ctx, { vhosts }) {
		const fields = FIELDS(vhosts);
		const onsubmit = (event) => {
			event.preventDefault();
			follow(ctx, valuesOf(event.target, fields));
		};
		return [
			heading("", "Trace", "Where messages go and by which binding, when they are on disk, who gets and settles them."),
			section(
				"Messages to follow",
				h(
					"form",
					{ class: "inline", onsubmit },
					fieldRow(fields, "trace", "small"),
					problem(trace.error),
					h(
						"div",
						{ class: "buttons" },
						h(
							"button",
							{ class: "primary", disabled: Boolean(trace.stop) },
							trace.stop ? "Waiting for events …" : "Start",
						),
						trace.stop && h("button", { type: "button", class: "danger", onclick: () => trace.stop.abort() }, "Stop"),
					),
				),
			),
			trace.events.length > 0
				? h("section", { class: "list", "aria-label": "Events" }, events(ctx))
				: h(
						"p",
						{ class: "quiet" },
						trace.stop
							? "No such message has been published yet."
							: "Start, then have a message published: each step of its way is shown here as it happens.",
					),
		];
	},
};

async function follow(ctx, { vhost, queue, exchange, header, number, duration }) {
	Object.assign(trace, { stop: new AbortController(), events: [], error: "", left: 0 });
	ctx.draw();
	try {
		const wanted = {
			vhost,
			queue,
			exchange: exchange === "amq.default" ? "" : exchange,
			header: header ? [header] : [],
			number,
			duration,
		};
		for await (const line of stream("/api/pybroker/trace", wanted, trace.stop.signal)) {
			if (line.event) trace.events.push(line.event);
			else if (line.error) trace.error = line.error.reason;
			if (trace.events.length > EVENTS_MAX)
				trace.left += trace.events.splice(0, trace.events.length - EVENTS_MAX).length;
			ctx.draw();
		}
	} catch (error) {
		trace.error = error.name === "AbortError" ? "" : error.message;
	}
	trace.stop = null;
	ctx.draw();
}

function events(ctx) {
	return [
		table(ctx, {
			caption: "Events",
			isPlain: true,
			rows: trace.events,
			key: (event) => `${trace.left + trace.events.indexOf(event)}`,
			columns: [
				{ label: "Time", cell: (event) => clock(event.timestamp_in_ms) },
				{ label: "Message", num: true, cell: (event) => event.message ?? "" },
				{ label: "After", num: true, cell: (event) => (event.after_ms === undefined ? "" : `${event.after_ms} ms`) },
				{ label: "Event", cell: (event) => h("b", null, event.event.replaceAll("_", " ")) },
				{ label: "What happened", class: "wrap", cell: (event) => event.text },
			],
		}),
		trace.left > 0 && h("p", { class: "empty" }, `${trace.left} earlier events are not shown.`),
	];
}
