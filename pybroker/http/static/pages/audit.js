// The audit log: who did what, from where, and why something is gone.

import { fieldRow, valuesOf } from "../lib/form.js";
import { moment, plain } from "../lib/format.js";
import { heading, userLink, vhostLink } from "../lib/parts.js";
import { table } from "../lib/table.js";
import { h } from "../lib/view.js";

const FIELDS = [
	{ name: "event", label: "Event", placeholder: "queue.deleted" },
	{ name: "name", label: "Name" },
	{ name: "user", label: "User" },
	{ name: "vhost", label: "Virtual host" },
	{ name: "since", label: "Newer than", placeholder: "15m, 2h, 3d" },
	{ name: "number", label: "Entries", type: "number", min: 1, max: 10000, placeholder: "100" },
];

export const page = {
	title: () => "Audit",

	load: (ctx, get) =>
		get("/api/pybroker/audit", {
			number: ctx.query.number ?? 100,
			...Object.fromEntries(FIELDS.map(({ name }) => [name, ctx.query[name]]).filter(([, value]) => value)),
		}),

	view(ctx, entries) {
		const apply = (event) => {
			event.preventDefault();
			const values = valuesOf(event.currentTarget, FIELDS);
			ctx.go(ctx.here(Object.fromEntries(FIELDS.map(({ name }) => [name, values[name] ?? ""]))));
		};
		return [
			heading("", "Audit", "Who did what, from where; the newest first."),
			h(
				"form",
				{ class: "card inline", onsubmit: apply, role: "search", "aria-label": "Filter" },
				fieldRow(
					FIELDS.map((one) => ({ ...one, value: ctx.query[one.name] })),
					"audit",
					"small",
				),
				h("div", { class: "buttons" }, h("button", { class: "primary" }, "Show"), h("a", { href: "#/audit" }, "Clear")),
			),
			h(
				"section",
				{ class: "list" },
				entries.length
					? table(ctx, {
							caption: "Audit log",
							isPlain: true,
							rows: [...entries].reverse(),
							key: (one) => JSON.stringify(one),
							columns: [
								{ label: "Time", cell: (one) => h("time", { datetime: one.time, title: one.time }, moment(one.time)) },
								{ label: "Event", cell: (one) => h("b", null, one.event) },
								{
									label: "Name",
									class: "wrap",
									cell: (one) => [
										h("bdi", null, one.name),
										one.vhost && h("small", { class: "below" }, "in ", vhostLink(one.vhost)),
									],
								},
								{
									label: "User",
									cell: (one) => [
										one.user.startsWith("rmq-") ? one.user : userLink(one.user),
										one.peer && h("small", { class: "below" }, h("bdi", null, one.peer)),
									],
								},
								{
									label: "Cause and details",
									class: "wrap",
									cell: (one) => [one.cause, one.detail && h("small", { class: "below" }, plain(one.detail))],
								},
							],
						})
					: h("p", { class: "empty" }, "No entry fits."),
			),
		];
	},
};
