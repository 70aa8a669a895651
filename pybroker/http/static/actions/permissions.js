// What can be done to permissions, and to those for topics.

import { userNames, vhostNames } from "../lib/act.js";
import { path, put } from "../lib/api.js";
import { askButton, removeButton } from "../lib/form.js";
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
	askButton(ctx, label, row ? "link" : null, async () => {
		const other = row ? [] : [await otherField(ctx, user)];
		return {
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
		};
	});

export const permissionActions = (ctx) => (row) =>
	h(
		"span",
		{ class: "buttons end" },
		setPermissions(ctx, { row, label: "Change" }),
		removeButton(ctx, "Take away", () => ({
			title: `Take the permissions of ${row.user} in ${row.vhost} away`,
			text: "The user can no longer enter the virtual host.",
			place: path`/api/permissions/${row.vhost}/${row.user}`,
			done: "Permissions taken away.",
		})),
	);

/** Asks for topic permissions: which routing keys a user may use at an exchange. */
export const setTopics = (ctx, { user, vhost }) =>
	askButton(ctx, "Restrict …", "", async () => {
		const other = await otherField(ctx, user);
		return {
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
		};
	});

export const topicActions = (ctx) => (row) =>
	removeButton(ctx, "Lift", () => ({
		title: `Lift the topic permissions of ${row.user} at ${row.exchange}`,
		text: "Routing keys are then not restricted.",
		place: path`/api/topic-permissions/${row.vhost}/${row.user}/${row.exchange}`,
		done: "Topic permissions lifted.",
	}));
