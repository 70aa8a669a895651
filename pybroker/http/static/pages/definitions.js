// Definitions: downloaded, and imported after a look at the plan.

import { download, vhostNames } from "../lib/act.js";
import { get, path, post, withQuery } from "../lib/api.js";
import { field, problem } from "../lib/form.js";
import { counted, plain } from "../lib/format.js";
import { heading, section, sideBySide } from "../lib/parts.js";
import { table } from "../lib/table.js";
import { h } from "../lib/view.js";

const ROWS_MAX = 500;

export const page = {
	title: () => "Definitions",

	load: async (ctx) => ({ vhosts: await vhostNames(ctx) }),

	view(ctx, { vhosts }) {
		const state = (ctx.state.definitions ??= { error: "", file: null, vhost: "", plan: null, isBusy: false });
		const whole = ["", "all of them, with users and permissions"];
		const guarded = (work) => async () => {
			Object.assign(state, { error: "", isBusy: true });
			ctx.draw();
			try {
				await work();
			} catch (error) {
				state.error = error.message;
			}
			state.isBusy = false;
			ctx.draw();
		};
		const choose = (event) => {
			state.vhost = event.target.value;
			state.plan = null;
			ctx.draw();
		};
		const save = guarded(async () => {
			const document = await get(state.vhost ? path`/api/definitions/${state.vhost}` : "/api/definitions");
			download(
				`definitions${state.vhost ? `-${state.vhost.replaceAll(/[^\w.-]/g, "_")}` : ""}.json`,
				[JSON.stringify(document, null, 2)],
				"application/json",
			);
		});
		const read = (event) =>
			guarded(async () => {
				const [file] = event.target.files;
				state.plan = null;
				state.file = file ? { name: file.name, document: parsed(await file.text()) } : null;
				if (state.file)
					state.plan = await post(
						withQuery("/api/pybroker/definitions/plan", { vhost: state.vhost }),
						state.file.document,
					);
			})();
		const carryOut = guarded(async () => {
			await post(state.vhost ? path`/api/definitions/${state.vhost}` : "/api/definitions", state.file.document);
			ctx.notice(`${state.file.name} imported.`);
			state.plan = null;
			state.file = null;
		});
		return [
			heading(
				"",
				"Definitions",
				"Users, virtual hosts, queues, exchanges, bindings, policies and the rest of what is kept without messages.",
			),
			section(
				"What to download or import",
				h(
					"div",
					{ class: "fields one" },
					field(
						{
							name: "vhost",
							label: "Virtual host",
							type: "select",
							options: [whole, ...vhosts.map((name) => [name, name])],
							value: state.vhost,
							onchange: choose,
						},
						"definitions",
					),
				),
			),
			sideBySide(
				section(
					"Download",
					h("p", { class: "quiet" }, "As a document in RabbitMQ's format. It has the hashes of passwords."),
					h("div", { class: "buttons" }, h("button", { onclick: save, disabled: state.isBusy }, "Download")),
				),
				section(
					"Import",
					h("p", { class: "quiet" }, "First the plan is shown. Nothing that is not in the document is deleted."),
					field(
						{ name: "file", label: "Document", type: "file", accept: ".json,application/json", onchange: read },
						"definitions",
					),
				),
			),
			problem(state.error),
			state.plan &&
				section(
					h("span", { role: "status" }, `Plan: ${state.file.name}`),
					plan(ctx, state),
					h(
						"div",
						{ class: "buttons" },
						h(
							"button",
							{
								class: "primary",
								onclick: carryOut,
								disabled: state.isBusy || !state.plan.some(({ action }) => action === "create" || action === "update"),
							},
							"Import",
						),
					),
				),
		];
	},
};

function parsed(text) {
	try {
		return JSON.parse(text);
	} catch {
		throw new Error("The file is not JSON.");
	}
}

function plan(ctx, { plan: rows }) {
	if (!rows.length) return h("p", null, "There is nothing to do: all of it is there already.");
	const kinds = ["create", "update", "conflict", "skip"]
		.map((action) => [
			action,
			new Set(
				rows
					.filter((row) => row.action === action)
					.map(({ section: part, vhost, name }) => JSON.stringify([part, vhost, name])),
			).size,
		])
		.filter(([, number]) => number);
	return [
		h("p", null, `${kinds.map(([action, number]) => `${action} ${number}`).join(", ")}.`),
		table(ctx, {
			caption: "Plan",
			isPlain: true,
			rows: rows.slice(0, ROWS_MAX),
			key: (row) => JSON.stringify([row.action, row.section, row.vhost, row.name, row.member]),
			columns: [
				{ label: "Action", cell: (row) => h("b", { class: row.action === "conflict" ? "bad" : null }, row.action) },
				{ label: "Section", cell: (row) => row.section.replaceAll("_", " ") },
				{ label: "Virtual host", cell: (row) => h("bdi", null, row.vhost) },
				{ label: "Name", class: "wrap", cell: (row) => h("bdi", null, row.name) },
				{ label: "Property", cell: (row) => row.member },
				{ label: "Now", class: "wrap", cell: (row) => shown(row.now) },
				{ label: "Then", class: "wrap", cell: (row) => shown(row.wanted) },
			],
		}),
		rows.length > ROWS_MAX && h("p", { class: "quiet" }, `The first ${ROWS_MAX} of ${counted(rows.length, "line")}.`),
	];
}

const shown = (value) =>
	value === null || value === undefined || value === "" ? "" : h("bdi", { class: "code" }, plain(value));
