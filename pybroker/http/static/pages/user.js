// One user: tags, permissions, limits.

import { setLimits } from "../actions/limits.js";
import { permissionActions, setPermissions, setTopics, topicActions } from "../actions/permissions.js";
import { userButtons } from "../actions/users.js";
import { path } from "../lib/api.js";
import { limitsOf } from "../lib/format.js";
import { facts, heading, nameOf, sectionWith } from "../lib/parts.js";
import { permissionsTable, topicsTable } from "./permissions.js";
import { tagBadges, tagsOf } from "./users.js";

export const page = {
	title: ({ args: [name] }) => name,

	async load(ctx, get) {
		const [name] = ctx.args;
		const [user, permissions, topics, limits] = await Promise.all([
			get(path`/api/users/${name}`),
			get(path`/api/users/${name}/permissions`),
			get(path`/api/users/${name}/topic-permissions`),
			get(path`/api/user-limits/${name}`),
		]);
		return { user, permissions, topics, limits: limits[0]?.value ?? {} };
	},

	view: (ctx, { user, permissions, topics, limits }) => [
		heading("User", nameOf(user.name), tagBadges(user), userButtons(ctx, user, tagsOf(user))),
		sectionWith(
			"User",
			setLimits(ctx, "user", { row: { user: user.name, value: limits }, label: "Set limits …" }),
			facts([
				["Password", user.password_hash ? "set" : "none: logs in with a certificate alone"],
				["Hash", user.hashing_algorithm?.replace("rabbit_password_hashing_", "")],
				["Most connections", limitsOf(limits, "max-connections")],
				["Most channels", limitsOf(limits, "max-channels")],
			]),
		),
		sectionWith(
			"Permissions",
			setPermissions(ctx, { user: user.name, label: "Give permissions …" }),
			permissionsTable(ctx, permissions, "vhost", permissionActions(ctx)),
		),
		sectionWith(
			"Topic permissions",
			setTopics(ctx, { user: user.name }),
			topicsTable(ctx, topics, "vhost", topicActions(ctx)),
		),
	],
};
