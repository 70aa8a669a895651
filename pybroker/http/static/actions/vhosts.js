// What can be done to virtual hosts.

import { path, post, put, remove } from "../lib/api.js";
import { askButton, removeButton } from "../lib/form.js";
import { counted } from "../lib/format.js";
import { link } from "../lib/route.js";

const fieldsOf = (vhost) => [
	{ name: "description", label: "Description", value: vhost?.description, full: true },
	{ name: "tags", label: "Tags", value: (vhost?.tags ?? []).join(", "), hint: "Separated by commas" },
	{
		name: "tracing",
		label: "Firehose: copy all messages to exchange “amq.rabbitmq.trace”",
		type: "checkbox",
		value: vhost?.tracing ?? false,
	},
];

export const addVHost = (ctx) =>
	askButton(ctx, "Add virtual host", "primary", () => ({
		title: "Add a virtual host",
		label: "Add",
		fields: [{ name: "name", label: "Name", required: true, full: true }, ...fieldsOf()],
		run: async ({ name, ...rest }) => {
			await put(path`/api/vhosts/${name}`, rest);
			ctx.go(link("vhosts", [name]));
			return `Virtual host “${name}” added.`;
		},
	}));

export function vhostButtons(ctx, vhost) {
	const place = path`/api/vhosts/${vhost.name}`;
	const protection = path`/api/vhosts/${vhost.name}/deletion/protection`;
	const isProtected = vhost.protected_from_deletion;
	return [
		askButton(ctx, "Change …", "", () => ({
			title: `Change virtual host ${vhost.name}`,
			label: "Save",
			fields: fieldsOf(vhost),
			run: async (values) => {
				await put(place, { description: "", tags: "", ...values });
				return "Virtual host changed.";
			},
		})),
		isProtected !== undefined &&
			askButton(ctx, isProtected ? "Lift the protection …" : "Protect …", "", () => ({
				title: isProtected ? "Lift the protection" : "Protect from deletion",
				label: isProtected ? "Lift" : "Protect",
				text: isProtected
					? "The virtual host can be deleted afterwards."
					: "Nobody can delete the virtual host until the protection is lifted.",
				run: async () => {
					await (isProtected ? remove(protection) : post(protection));
				},
			})),
		!isProtected &&
			removeButton(ctx, "Delete …", () => ({
				title: `Delete virtual host ${vhost.name}`,
				confirm: vhost.name,
				text: `Its queues, exchanges, policies and permissions go with it, and ${counted(vhost.messages ?? 0, "message")}.`,
				place,
				done: `Virtual host “${vhost.name}” deleted.`,
				page: "vhosts",
			})),
	];
}
