// Users and their tags.

import { addUser } from "../actions/users.js";
import { badge, badges, heading, userLink } from "../lib/parts.js";
import { list, pageHere } from "../lib/table.js";
import { h } from "../lib/view.js";

const TAGS = {
	administrator: "Sees and does everything",
	monitoring: "Sees everything",
	policymaker: "Changes policies and parameters of own virtual hosts",
	management: "Sees own virtual hosts",
};
// Versions of RabbitMQ tell tags as a list or as a text.
export const tagsOf = ({ tags }) => (Array.isArray(tags) ? tags : (tags ?? "").split(",")).filter(Boolean);
export const tagBadges = (user) =>
	badges(
		tagsOf(user).map((tag) => badge(tag, TAGS[tag] ?? "Of no meaning for the broker")),
	);

const COLUMNS = [
	{ id: "name", label: "Name", sort: "name", class: "name", cell: (user) => userLink(user.name) },
	{ id: "tags", label: "Tags", cell: tagBadges },
	{
		id: "password",
		label: "Password",
		cell: (user) =>
			user.password_hash ? "yes" : h("span", { class: "quiet" }, "none: logs in with a certificate alone"),
	},
	{
		id: "limits",
		label: "Limits",
		cell: (user) =>
			Object.entries(user.limits ?? {})
				.map(([name, value]) => `${name}: ${value}`)
				.join(", "),
	},
];

export const page = {
	title: () => "Users",
	load: (ctx, get) => get("/api/users"),
	view: (ctx, users) => [
		heading("", "Users", null, addUser(ctx)),
		list(ctx, {
			noun: "user",
			columns: COLUMNS,
			envelope: pageHere(users, COLUMNS, ctx.query, (user) => user.name),
			key: (user) => user.name,
			name: (user) => user.name,
		}),
	],
};
