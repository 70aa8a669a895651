// What can be done to users.

import { path, put } from "../lib/api.js";
import { askButton, removeButton } from "../lib/form.js";
import { link } from "../lib/route.js";

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
	askButton(ctx, "Add user", "primary", () => ({
		title: "Add a user",
		label: "Add",
		fields: fieldsOf(),
		run: async ({ name, password, how, tags = "" }) => {
			if (how && !password) throw new Error("Give a password, or choose a login with a certificate alone.");
			await put(path`/api/users/${name}`, { tags, ...(how ? { password } : { password_hash: "" }) });
			ctx.go(link("users", [name]));
			return `User “${name}” added. It may enter no virtual host yet.`;
		},
	}));

export function userButtons(ctx, user, tags) {
	const place = path`/api/users/${user.name}`;
	return [
		askButton(ctx, "Change …", "", () => ({
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
		})),
		removeButton(ctx, "Delete …", () => ({
			title: `Delete user ${user.name}`,
			text: "Its connections are closed; its queues and exchanges stay.",
			place,
			done: `User “${user.name}” deleted.`,
			page: "users",
		})),
	];
}
