// Limits of virtual hosts and users.

import { setLimits } from "../actions/limits.js";
import { limitsOf } from "../lib/format.js";
import { heading, sectionWith, userLink, vhostLink } from "../lib/parts.js";
import { table } from "../lib/table.js";
import { h } from "../lib/view.js";

export const KINDS = {
	vhost: {
		title: "Virtual hosts",
		noun: "virtual host",
		link: vhostLink,
		names: [
			["max-connections", "Most connections"],
			["max-queues", "Most queues"],
		],
	},
	user: {
		title: "Users",
		noun: "user",
		link: userLink,
		names: [
			["max-connections", "Most connections"],
			["max-channels", "Most channels"],
		],
	},
};

export const page = {
	title: () => "Limits",

	async load(ctx, get) {
		const [vhost, user] = await Promise.all([get("/api/vhost-limits"), get("/api/user-limits")]);
		return { vhost, user };
	},

	view: (ctx, found) => [
		heading("", "Limits"),
		Object.entries(KINDS).map(([kind, { title }]) =>
			sectionWith(
				title,
				setLimits(ctx, kind, { label: "Set limits …" }),
				limitsTable(ctx, kind, found[kind], (row) => setLimits(ctx, kind, { row, label: "Change", isLink: true })),
			),
		),
	],
};

function limitsTable(ctx, kind, rows, extra) {
	const { noun, link, names, title } = KINDS[kind];
	if (!rows.length) return h("p", { class: "quiet" }, `No ${noun} has a limit.`);
	return table(ctx, {
		caption: `Limits of ${title.toLowerCase()}`,
		isPlain: true,
		rows,
		key: (row) => row[kind],
		columns: [
			{ label: "Name", cell: (row) => link(row[kind]) },
			...names.map(([name, label]) => ({ label, num: true, cell: (row) => limitsOf(row.value, name) })),
			extra && { label: h("span", { class: "sr" }, "Actions"), class: "end", cell: extra },
		].filter(Boolean),
	});
}
