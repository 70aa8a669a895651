// Setting policies, with a preview of what they would match, and clearing them.

import { started, vhostNames } from "../lib/act.js";
import { path, put, remove } from "../lib/api.js";
import { ask } from "../lib/form.js";
import { h } from "../lib/view.js";

const APPLY_TO = [
	["queues", "queues"],
	["classic_queues", "classic queues"],
	["exchanges", "exchanges"],
	["all", "queues and exchanges"],
];
const placeOf = (kind, vhost, name) =>
	kind === "policies" ? path`/api/policies/${vhost}/${name}` : path`/api/operator-policies/${vhost}/${name}`;

/** A button that asks for a policy, or for changes of one. `kind`: policies or operator-policies. */
export const setPolicy = (ctx, kind, row) =>
	h(
		"button",
		{
			class: row ? "link" : null,
			onclick: started(ctx, async () => {
				const vhosts = row ? [row.vhost] : await vhostNames(ctx);
				ask(ctx, {
					title: row ? `Change policy ${row.name}` : kind === "policies" ? "Add a policy" : "Add an operator policy",
					label: "Save",
					wide: true,
					fields: [
						{ name: "name", label: "Name", required: true, value: row?.name },
						{ name: "vhost", label: "Virtual host", type: "select", options: vhosts, value: vhosts[0] },
						{
							name: "pattern",
							label: "Pattern",
							required: true,
							value: row?.pattern,
							hint: "A regular expression for names",
						},
						{
							name: "apply-to",
							label: "Applies to",
							type: "select",
							options: kind === "policies" ? APPLY_TO : APPLY_TO.slice(0, 2),
							value: row?.["apply-to"],
						},
						{ name: "priority", label: "Priority", type: "number", value: row?.priority ?? 0 },
						{
							name: "definition",
							label: "Definition",
							type: "json",
							required: true,
							full: true,
							rows: 4,
							value: row ? JSON.stringify(row.definition, null, 2) : "",
							placeholder: '{"max-length": 100000, "dead-letter-exchange": "dead"}',
						},
					],
					run: async ({ name, vhost, ...policy }) => {
						await put(placeOf(kind, vhost, name), { "apply-to": "queues", priority: 0, ...policy });
						return `Policy “${name}” saved.`;
					},
				});
			}),
		},
		row ? "Change" : "Add …",
	);

export const policyActions = (ctx, kind) => (row) =>
	h(
		"span",
		{ class: "buttons end" },
		setPolicy(ctx, kind, row),
		h(
			"button",
			{
				class: "link",
				onclick: () =>
					ask(ctx, {
						title: `Clear policy ${row.name}`,
						danger: true,
						label: "Clear",
						text: `It applies to ${row["apply-to"]} that match ${row.pattern} in virtual host ${row.vhost}.`,
						run: async () => {
							await remove(placeOf(kind, row.vhost, row.name));
							return `Policy “${row.name}” cleared.`;
						},
					}),
			},
			"Clear",
		),
	);
