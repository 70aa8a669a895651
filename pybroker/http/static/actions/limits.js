// Setting and lifting limits of virtual hosts and users.

import { userNames, vhostNames } from "../lib/act.js";
import { path, put, remove } from "../lib/api.js";
import { askButton } from "../lib/form.js";
import { KINDS } from "../pages/limits.js";

const placeOf = (kind, noun, name) =>
	kind === "vhost" ? path`/api/vhost-limits/${noun}/${name}` : path`/api/user-limits/${noun}/${name}`;

/** A button that asks for the limits of a `row`, {vhost or user, value}, or of one to choose. */
export const setLimits = (ctx, kind, { row, label, isLink }) =>
	askButton(ctx, label, isLink ? "link" : null, async () => {
		const { names, noun, title } = KINDS[kind];
		const nouns = row
			? []
			: kind === "vhost"
				? await vhostNames(ctx)
				: await userNames();
		return {
			title: row ? `Limits of ${noun} ${row[kind]}` : `Limits: ${title.toLowerCase()}`,
			label: "Save",
			fields: [
				...(row
					? []
					: [
							{
								name: "noun",
								label: noun === "user" ? "User" : "Virtual host",
								type: "select",
								options: nouns,
								value: nouns[0],
								full: true,
							},
						]),
				...names.map(([name, label]) => ({
					name,
					label,
					type: "number",
					min: 0,
					hint: "Empty: no limit",
					value: row?.value[name] >= 0 ? row.value[name] : "",
				})),
			],
			run: async ({ noun: chosen, ...values }) => {
				const target = row?.[kind] ?? chosen;
				for (const [name] of names) {
					if (values[name] !== undefined) await put(placeOf(kind, target, name), { value: values[name] });
					else if (row?.value[name] !== undefined) await remove(placeOf(kind, target, name));
				}
				return "Limits saved.";
			},
		};
	});
