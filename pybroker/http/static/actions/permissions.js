// What can be done to permissions, and to those for topics.

import { started, userNames, vhostNames } from "../lib/act.js";
import { path, put, remove } from "../lib/api.js";
import { ask } from "../lib/form.js";
import { h } from "../lib/view.js";

const PATTERNS = ["configure", "write", "read"].map((name) => ({
	name,
	label: { configure: "Configure", write: "Write", read: "Read" }[name],
	hint: "A regular expression; empty: nothing",
}));

/** The field that chooses the virtual host for a `user`; without one, the user. */
async function otherField(ctx, user) {
	const options = await (user === undefined ? userNames() : vhostNames(ctx));
	const label = user === undefined ? "User" : "Virtual host";
	return { name: "chosen", label, type: "select", options, value: options[0], full: true };
}

/** Asks for permissions: of a `user`, of a `vhost`, or changes those of a `row`. */
export const setPermissions = (ctx, { user, vhost, row, label }) =>
	h(
		"button",
		{
			class: row ? "link" : null,
			onclick: started(ctx, async () => {
				const other = row ? [] : [await otherField(ctx, user)];
				ask(ctx, {
					title: row ? `Permissions of ${row.user} in ${row.vhost}` : "Give permissions",
					label: "Save",
					fields: [
						...other,
						...PATTERNS.map((one) => ({ ...one, value: row ? row[one.name] : ".*" })),
					],
					run: async ({ chosen, configure = "", write = "", read = "" }) => {
						await put(path`/api/permissions/${row?.vhost ?? vhost ?? chosen}/${row?.user ?? user ?? chosen}`, {
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
				const other = await otherField(ctx, user);
				ask(ctx, {
					title: "Restrict routing keys",
					label: "Save",
					fields: [
						other,
						{ name: "exchange", label: "Exchange", required: true, value: "amq.topic" },
						...PATTERNS.slice(1).map((one) => ({ ...one, value: ".*" })),
					],
					run: async ({ chosen, exchange, write = "", read = "" }) => {
						await put(path`/api/topic-permissions/${vhost ?? chosen}/${user ?? chosen}`, { exchange, write, read });
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
