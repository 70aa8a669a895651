// Setting policies, with a preview of what they would match, and clearing them.

import { vhostNames } from "../lib/act.js";
import { path, post, put } from "../lib/api.js";
import { askButton, removeButton } from "../lib/form.js";
import { counted } from "../lib/format.js";
import { h } from "../lib/view.js";

const APPLY_TO = [
	["queues", "queues"],
	["classic_queues", "classic queues"],
	["exchanges", "exchanges"],
	["all", "queues and exchanges"],
];
const placeOf = (kind, vhost, name) =>
	kind === "policies" ? path`/api/policies/${vhost}/${name}` : path`/api/operator-policies/${vhost}/${name}`;
const PREVIEW_MS = 300;

/** A button that asks for a policy, or for changes of one. `kind`: policies or operator-policies. */
export const setPolicy = (ctx, kind, row) =>
	askButton(ctx, row ? "Change" : "Add …", row ? "link" : null, async () => {
		const vhosts = row ? [row.vhost] : await vhostNames(ctx);
		const preview = { text: "", timer: 0 };
		const oninput = (event) => {
			clearTimeout(preview.timer);
			const { form } = event.target;
			preview.timer = setTimeout(() => look(ctx, form, preview), PREVIEW_MS);
		};
		return {
			title: row ? `Change policy ${row.name}` : kind === "policies" ? "Add a policy" : "Add an operator policy",
			label: "Save",
			wide: true,
			fields: [
				{ name: "name", label: "Name", required: true, value: row?.name },
				{ name: "vhost", label: "Virtual host", type: "select", options: vhosts, value: vhosts[0], oninput },
				{
					name: "pattern",
					label: "Pattern",
					required: true,
					value: row?.pattern,
					hint: "A regular expression for names",
					oninput,
				},
				{
					name: "apply-to",
					label: "Applies to",
					type: "select",
					options: kind === "policies" ? APPLY_TO : APPLY_TO.slice(0, 2),
					value: row?.["apply-to"],
					oninput,
				},
				{ name: "priority", label: "Priority", type: "number", value: row?.priority ?? 0, oninput },
				{
					name: "definition",
					label: "Definition",
					type: "json",
					required: true,
					full: true,
					rows: 4,
					value: row ? JSON.stringify(row.definition, null, 2) : "",
					placeholder: '{"max-length": 100000, "dead-letter-exchange": "dead"}',
					oninput,
				},
			],
			after: () => h("p", { class: "quiet", role: "status" }, preview.text),
			run: async ({ name, vhost, ...policy }) => {
				await put(placeOf(kind, vhost, name), { "apply-to": "queues", priority: 0, ...policy });
				return `Policy “${name}” saved.`;
			},
		};
	});

/** Ask what the policy would match and drop; what is not complete yet is not asked. */
async function look(ctx, form, preview) {
	const { vhost, pattern, priority, definition } = form.elements;
	const name = form.elements.name.value || "new";
	let parsed;
	try {
		parsed = JSON.parse(definition.value);
	} catch {
		parsed = null;
	}
	preview.text = "";
	if (pattern.value && parsed) {
		try {
			const found = await post(path`/api/pybroker/policies/${vhost.value}/${name}/preview`, {
				pattern: pattern.value,
				"apply-to": form.elements["apply-to"].value,
				priority: Number(priority.value) || 0,
				definition: parsed,
			});
			const drops = found.messages_dropped
				? ` ${counted(found.messages_dropped, "message")} would be dropped at once.`
				: "";
			preview.text = `Would apply to ${counted(found.queues, "queue")} and ${counted(found.exchanges, "exchange")}.${drops}`;
		} catch (error) {
			preview.text = error.message;
		}
	}
	ctx.draw();
}

export const policyActions = (ctx, kind) => (row) =>
	h(
		"span",
		{ class: "buttons end" },
		setPolicy(ctx, kind, row),
		removeButton(ctx, "Clear", () => ({
			title: `Clear policy ${row.name}`,
			text: `It applies to ${row["apply-to"]} that match ${row.pattern} in virtual host ${row.vhost}.`,
			place: placeOf(kind, row.vhost, row.name),
			done: `Policy “${row.name}” cleared.`,
		})),
	);
