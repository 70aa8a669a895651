// The table of pages. A page is loaded when it is first shown.

import { heading } from "../lib/parts.js";

/** What the navigation shows; `key` follows "g", `tag` is what a user needs to see it. */
export const NAVIGATION = [
	{
		title: "Messages",
		pages: [
			{ id: "overview", label: "Overview", key: "o" },
			{ id: "queues", one: "queue", label: "Queues", key: "q" },
			{ id: "exchanges", one: "exchange", label: "Exchanges", key: "e" },
			{ id: "connections", one: "connection", label: "Connections", key: "c" },
			{ id: "channels", one: "channel", label: "Channels", key: "h" },
		],
	},
	{
		title: "Administration",
		pages: [
			{ id: "vhosts", one: "vhost", label: "Virtual hosts", key: "v" },
			{ id: "users", one: "user", label: "Users", key: "u", tag: "administrator" },
			{ id: "policies", label: "Policies", key: "p", tag: "policymaker" },
			{ id: "limits", label: "Limits", key: "l", tag: "administrator" },
			{ id: "definitions", label: "Definitions", key: "d", tag: "administrator" },
		],
	},
	{
		title: "Operation",
		pages: [
			{ id: "health", label: "Alarms and health", key: "a", tag: "monitoring" },
			{ id: "trace", label: "Trace", key: "t", tag: "administrator" },
			{ id: "audit", label: "Audit", key: "i", tag: "administrator" },
		],
	},
];

const PAGES = NAVIGATION.flatMap(({ pages }) => pages);

/** Return the page of an address: {title(ctx), load(ctx, get), view(ctx, data)}. */
export async function pageOf({ page: id, args }) {
	const found = PAGES.find((page) => page.id === id);
	if (!found || (args.length && !found.one)) return missing;
	return (await import(`./${args.length ? found.one : id}.js`)).page;
}

const missing = {
	title: () => "Not found",
	load: async () => null,
	view: () => heading("", "There is no such page"),
};
