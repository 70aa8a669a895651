// Policies, and those of operators, which limit them.

import { policyActions, setPolicy } from "../actions/policies.js";
import { count } from "../lib/format.js";
import { argumentsOf, heading, nameOf, sectionWith, vhostLink } from "../lib/parts.js";
import { table } from "../lib/table.js";
import { h } from "../lib/view.js";

export const KINDS = [
	{ id: "policies", title: "Policies", empty: "There are no policies." },
	{
		id: "operator-policies",
		title: "Operator policies",
		empty: "There are no operator policies. They set limits that policies and arguments cannot exceed.",
	},
];

const may = (ctx, id) => ctx.may(id === "policies" ? "policymaker" : "administrator");

export const page = {
	title: () => "Policies",

	async load(ctx, get) {
		const [policies, operators] = await Promise.all([get("/api/policies"), get("/api/operator-policies")]);
		return { policies, "operator-policies": operators };
	},

	view: (ctx, found) => [
		heading("", "Policies", "Of several policies that match a name, the one of the highest priority applies."),
		KINDS.map(({ id, title, empty }) =>
			sectionWith(
				title,
				may(ctx, id) && setPolicy(ctx, id),
				policiesTable(ctx, title, found[id], empty, may(ctx, id) && policyActions(ctx, id)),
			),
		),
	],
};

function policiesTable(ctx, caption, rows, empty, extra) {
	if (!rows.length) return h("p", { class: "quiet" }, empty);
	return table(ctx, {
		caption,
		isPlain: true,
		key: (one) => `${one.vhost}\n${one.name}`,
		rows: [...rows].sort(
			(one, other) =>
				one.vhost.localeCompare(other.vhost) || other.priority - one.priority || one.name.localeCompare(other.name),
		),
		columns: [
			{ label: "Name", class: "name", cell: (one) => nameOf(one.name) },
			{ label: "Virtual host", cell: (one) => vhostLink(one.vhost) },
			{ label: "Priority", num: true, cell: (one) => count(one.priority) },
			{ label: "Pattern", class: "wrap", cell: (one) => h("bdi", { class: "code" }, one.pattern) },
			{ label: "Applies to", cell: (one) => one["apply-to"] },
			{ label: "Definition", class: "wrap", cell: (one) => argumentsOf(one.definition) },
			extra && { label: h("span", { class: "sr" }, "Actions"), class: "end", cell: extra },
		].filter(Boolean),
	});
}
