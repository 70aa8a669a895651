// What can be done to users and their permissions.

import { started, vhostNames } from "../lib/act.js";
import { get, path, put, remove } from "../lib/api.js";
import { ask } from "../lib/form.js";
import { link } from "../lib/route.js";
import { h } from "../lib/view.js";

const TAGS = {
	name: "tags",
	label: "Tags",
	hint: "administrator, monitoring, policymaker, management; separated by commas",
	full: true,
};
const HOW = [
	["password", "a password"],
	["", "a certificate alone: no password"],
];

const fieldsOf = (user) => [
	...(user ? [] : [{ name: "name", label: "Name", required: true, autocomplete: "off" }]),
	{
		name: "password",
		label: user ? "New password" : "Password",
		type: "password",
		autocomplete: "new-password",
		hint: user ? "Empty: it stays" : undefined,
	},
	...(user ? [] : [{ name: "how", label: "Logs in with", type: "select", options: HOW, value: "password" }]),
	{ ...TAGS, value: user },
];

export const addUser = (ctx) =>
	h(
		"button",
		{
			class: "primary",
			onclick: () =>
				ask(ctx, {
					title: "Add a user",
					label: "Add",
					fields: fieldsOf(),
					run: async ({ name, password, how, tags = "" }) => {
						if (how && !password) throw new Error("Give a password, or choose a login with a certificate alone.");
						await put(path`/api/users/${name}`, { tags, ...(how ? { password } : { password_hash: "" }) });
						ctx.go(link("users", [name]));
						return `User “${name}” added. It may enter no virtual host yet.`;
					},
				}),
		},
		"Add user",
	);

export function userButtons(ctx, user, tags) {
	const place = path`/api/users/${user.name}`;
	return [
		h(
			"button",
			{
				onclick: () =>
					ask(ctx, {
						title: `Change user ${user.name}`,
						label: "Save",
						fields: fieldsOf(tags.join(", ")),
						run: async ({ password, tags: chosen = "" }) => {
							// Without either, the password would be taken away.
							const secret = password
								? { password }
								: { password_hash: user.password_hash, hashing_algorithm: user.hashing_algorithm };
							await put(place, { tags: chosen, ...secret });
							return "User changed.";
						},
					}),
			},
			"Change …",
		),
		h(
			"button",
			{
				class: "danger",
				onclick: () =>
					ask(ctx, {
						title: `Delete user ${user.name}`,
						danger: true,
						label: "Delete",
						text: "Its connections are closed; its queues and exchanges stay.",
						run: async () => {
							await remove(place);
							ctx.go(link("users"));
							return `User “${user.name}” deleted.`;
						},
					}),
			},
			"Delete …",
		),
	];
}

const PATTERNS = ["configure", "write", "read"].map((name) => ({
	name,
	label: { configure: "Configure", write: "Write", read: "Read" }[name],
	hint: "A regular expression; empty: nothing",
}));

/** Asks for permissions: of a `user`, of a `vhost`, or changes those of a `row`. */
export const setPermissions = (ctx, { user, vhost, row, label }) =>
	h(
		"button",
		{
			class: row ? "link" : null,
			onclick: started(ctx, async () => {
				const names = row
					? []
					: user === undefined
						? (await get("/api/users", { columns: "name" })).map(({ name }) => name)
						: await vhostNames(ctx);
				ask(ctx, {
					title: row ? `Permissions of ${row.user} in ${row.vhost}` : "Give permissions",
					label: "Save",
					fields: [
						...(row
							? []
							: [
									{
										name: "other",
										label: user === undefined ? "User" : "Virtual host",
										type: "select",
										options: names,
										value: names[0],
										full: true,
									},
								]),
						...PATTERNS.map((one) => ({ ...one, value: row ? row[one.name] : ".*" })),
					],
					run: async ({ other, configure = "", write = "", read = "" }) => {
						await put(path`/api/permissions/${row?.vhost ?? vhost ?? other}/${row?.user ?? user ?? other}`, {
							configure,
							write,
							read,
						});
						return "Permissions saved.";
					},
				});
			}),
		},
		label,
	);

export const permissionActions = (ctx) => (row) =>
	h(
		"span",
		{ class: "buttons end" },
		setPermissions(ctx, { row, label: "Change" }),
		h(
			"button",
			{
				class: "link",
				onclick: () =>
					ask(ctx, {
						title: `Take the permissions of ${row.user} in ${row.vhost} away`,
						danger: true,
						label: "Take away",
						text: "The user can no longer enter the virtual host.",
						run: async () => {
							await remove(path`/api/permissions/${row.vhost}/${row.user}`);
							return "Permissions taken away.";
						},
					}),
			},
			"Take away",
		),
	);

/** Asks for topic permissions: which routing keys a user may use at an exchange. */
export const setTopics = (ctx, { user, vhost }) =>
	h(
		"button",
		{
			onclick: started(ctx, async () => {
				const names =
					user === undefined
						? (await get("/api/users", { columns: "name" })).map(({ name }) => name)
						: await vhostNames(ctx);
				ask(ctx, {
					title: "Restrict routing keys",
					label: "Save",
					fields: [
						{
							name: "other",
							label: user === undefined ? "User" : "Virtual host",
							type: "select",
							options: names,
							value: names[0],
						},
						{ name: "exchange", label: "Exchange", required: true, value: "amq.topic" },
						...PATTERNS.slice(1).map((one) => ({ ...one, value: ".*" })),
					],
					run: async ({ other, exchange, write = "", read = "" }) => {
						await put(path`/api/topic-permissions/${vhost ?? other}/${user ?? other}`, { exchange, write, read });
						return "Topic permissions saved.";
					},
				});
			}),
		},
		"Restrict …",
	);

export const topicActions = (ctx) => (row) =>
	h(
		"button",
		{
			class: "link",
			onclick: () =>
				ask(ctx, {
					title: `Lift the topic permissions of ${row.user} at ${row.exchange}`,
					danger: true,
					label: "Lift",
					text: "Routing keys are then not restricted.",
					run: async () => {
						await remove(path`/api/topic-permissions/${row.vhost}/${row.user}/${row.exchange}`);
						return "Topic permissions lifted.";
					},
				}),
		},
		"Lift",
	);
