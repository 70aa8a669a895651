// What can be done to exchanges, and to bindings.

import { vhostNames } from "../lib/act.js";
import { get, path, post, put } from "../lib/api.js";
import { askButton, fieldRow, problem, removeButton, valuesOf } from "../lib/form.js";
import { link } from "../lib/route.js";
import { h } from "../lib/view.js";

export const addExchange = (ctx) =>
	askButton(ctx, "Add exchange", "primary", async () => {
		const [vhosts, { exchange_types: types }] = await Promise.all([
			vhostNames(ctx),
			get("/api/overview", { columns: "exchange_types" }),
		]);
		return {
			title: "Add an exchange",
			label: "Add",
			wide: true,
			fields: [
				{ name: "name", label: "Name", required: true },
				{ name: "vhost", label: "Virtual host", type: "select", options: vhosts, value: vhosts[0] },
				{ name: "type", label: "Type", type: "select", options: types.map(({ name }) => name), value: "direct" },
				{ name: "alternate", label: "Alternate exchange", hint: "Gets unroutable messages" },
				{ name: "durable", label: "Durable: survives a restart", type: "checkbox", value: true },
				{ name: "auto_delete", label: "Deleted with its last binding", type: "checkbox" },
				{ name: "internal", label: "Internal: clients cannot publish to it", type: "checkbox" },
				{
					name: "more",
					label: "Further arguments",
					type: "json",
					full: true,
					placeholder: '{"x-delayed-type": "topic"}',
				},
			],
			run: async ({ name, vhost, alternate, more, ...rest }) => {
				await put(path`/api/exchanges/${vhost}/${name}`, {
					...rest,
					arguments: { ...(alternate ? { "alternate-exchange": alternate } : {}), ...more },
				});
				ctx.go(link("exchanges", [vhost, name]));
				return `Exchange “${name}” added.`;
			},
		};
	});

/** Buttons for the head of an exchange's page. */
export function exchangeButtons(ctx, { vhost, name }) {
	if (name === "" || name.startsWith("amq.")) return null;
	return removeButton(ctx, "Delete …", () => ({
		title: `Delete exchange ${name}`,
		text: "Its bindings are deleted with it; publishes to it will fail.",
		place: path`/api/exchanges/${vhost}/${name}`,
		done: `Exchange “${name}” deleted.`,
		page: "exchanges",
	}));
}

/** The last cell of a binding's row. */
export const unbind =
	(ctx) =>
	({ vhost, source, destination_type: type, destination, properties_key: key }) =>
		source &&
		removeButton(ctx, "Delete", () => ({
			title: "Delete the binding",
			text: `From exchange ${source} to ${type} ${destination}.`,
			place: path`/api/bindings/${vhost}/e/${source}/${type.charAt(0)}/${destination}/${key}`,
			done: "Binding deleted.",
		}));

/** A form that binds: `from` or `to` is fixed, as {kind, name}. */
export function bindForm(ctx, { vhost, source, destination }) {
	const state = (ctx.state.bind ??= { error: "" });
	const fields = [
		...(destination
			? [{ name: "source", label: "From exchange", required: true }]
			: [
					{
						name: "type",
						label: "To",
						type: "select",
						options: [
							["q", "queue"],
							["e", "exchange"],
						],
					},
					{ name: "name", label: "Its name", required: true },
				]),
		{ name: "routing_key", label: "Routing key" },
		{ name: "arguments", label: "Arguments", type: "json", rows: 1, placeholder: '{"x-match": "all"}' },
	];
	const bind = async (event) => {
		event.preventDefault();
		const form = event.target;
		try {
			const {
				source: from = source,
				type = "q",
				name = destination,
				routing_key: key = "",
				arguments: table = {},
			} = valuesOf(form, fields);
			await post(path`/api/bindings/${vhost}/e/${from}/${type}/${name}`, { routing_key: key, arguments: table });
			form.reset();
			state.error = "";
			ctx.notice("Binding added.");
			ctx.refresh();
		} catch (error) {
			state.error = error.message;
			ctx.draw();
		}
	};
	return h(
		"form",
		{ class: "inline", onsubmit: bind, "aria-label": "Add a binding" },
		h("h3", null, "Add a binding"),
		fieldRow(fields, "bind"),
		problem(state.error),
		h("div", { class: "buttons" }, h("button", { class: "primary" }, "Bind")),
	);
}
