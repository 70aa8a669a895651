// Closing connections, with the reason that their clients are told.

import { each } from "../lib/act.js";
import { path, remove } from "../lib/api.js";
import { ask, askButton } from "../lib/form.js";
import { counted } from "../lib/format.js";
import { link } from "../lib/route.js";

const REASON = { name: "reason", label: "Reason", full: true, hint: "The client is told" };
const close = ({ name }, reason) =>
	remove(path`/api/connections/${name}`, undefined, reason ? { "X-Reason": reason } : {});

export const closeActions = (ctx, chosen) => [
	{
		label: "Close …",
		danger: true,
		run: (connections) =>
			ask(ctx, {
				title: `Close ${counted(connections.length, "connection")}`,
				danger: true,
				label: "Close",
				fields: [REASON],
				run: async ({ reason }) => {
					const text = await each(connections, "connection", "closed", (one) => close(one, reason));
					chosen.clear();
					return text;
				},
			}),
	},
];

export const closeButton = (ctx, connection) =>
	askButton(ctx, "Close …", "danger", () => ({
		title: `Close connection ${connection.name}`,
		danger: true,
		label: "Close",
		fields: [REASON],
		run: async ({ reason }) => {
			await close(connection, reason);
			ctx.go(link("connections"));
			return "Connection closed.";
		},
	}));
