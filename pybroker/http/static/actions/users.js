// What can be done to users.

import { path, put, remove } from "../lib/api.js";
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
