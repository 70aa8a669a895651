// Tables of permissions, for the pages of users and virtual hosts.

import { exchangeLink, userLink, vhostLink } from "../lib/parts.js";
import { table } from "../lib/table.js";
import { h } from "../lib/view.js";

const pattern = (text) => (text === "" ? h("span", { class: "quiet" }, "nothing") : h("bdi", { class: "code" }, text));

/** `whose`: "user" where the rows are of one virtual host, "vhost" where they are of one user; `extra(row)` is the last cell. */
export function permissionsTable(ctx, rows, whose, extra) {
	if (!rows.length)
		return h(
			"p",
			{ class: "quiet" },
			whose === "user" ? "No user may do anything here." : "This user may enter no virtual host.",
		);
	return table(ctx, {
		caption: "Permissions",
		isPlain: true,
		rows,
		key: (row) => row[whose],
		columns: [
			who(whose),
			{ label: "Configure", class: "wrap", cell: (row) => pattern(row.configure) },
			{ label: "Write", class: "wrap", cell: (row) => pattern(row.write) },
			{ label: "Read", class: "wrap", cell: (row) => pattern(row.read) },
			last(extra),
		].filter(Boolean),
	});
}

export function topicsTable(ctx, rows, whose, extra) {
	if (!rows.length) return h("p", { class: "quiet" }, "None: routing keys are not restricted.");
	return table(ctx, {
		caption: "Topic permissions",
		isPlain: true,
		rows,
		key: (row) => `${row[whose]}\n${row.exchange}`,
		columns: [
			who(whose),
			{ label: "Exchange", cell: (row) => exchangeLink(row.vhost, row.exchange) },
			{ label: "Write", class: "wrap", cell: (row) => pattern(row.write) },
			{ label: "Read", class: "wrap", cell: (row) => pattern(row.read) },
			last(extra),
		].filter(Boolean),
	});
}

const who = (whose) =>
	whose === "user"
		? { label: "User", cell: (row) => userLink(row.user) }
		: { label: "Virtual host", cell: (row) => vhostLink(row.vhost) };
const last = (extra) => extra && { label: h("span", { class: "sr" }, "Actions"), class: "end", cell: extra };
