// Definitions: downloaded as a document.

import { download } from "../lib/act.js";
import { get, path } from "../lib/api.js";
import { field } from "../lib/form.js";
import { heading, section } from "../lib/parts.js";
import { h } from "../lib/view.js";

export const page = {
	title: () => "Definitions",

	load: async () => ({ vhosts: (await get("/api/vhosts", { columns: "name" })).map(({ name }) => name) }),

	view(ctx, { vhosts }) {
		const state = (ctx.state.definitions ??= { error: "", vhost: "" });
		const save = async () => {
			try {
				const document = await get(state.vhost ? path`/api/definitions/${state.vhost}` : "/api/definitions");
				const name = state.vhost ? `definitions-${state.vhost.replaceAll(/[^\w.-]/g, "_")}` : "definitions";
				download(`${name}.json`, [JSON.stringify(document, null, 2)], "application/json");
				state.error = "";
			} catch (error) {
				state.error = error.message;
			}
			ctx.draw();
		};
		return [
			heading(
				"",
				"Definitions",
				"Users, virtual hosts, queues, exchanges, bindings, policies and the rest of what is kept without messages.",
			),
			section(
				"Download",
				h(
					"p",
					{ class: "quiet" },
					"As a document in RabbitMQ's format. With users it has the hashes of their passwords.",
				),
				h(
					"div",
					{ class: "fields" },
					field(
						{
							name: "vhost",
							label: "Virtual host",
							type: "select",
							options: [["", "all of them, with users and permissions"], ...vhosts.map((name) => [name, name])],
							value: state.vhost,
							onchange: (event) => {
								state.vhost = event.target.value;
							},
						},
						"definitions",
					),
				),
				h("p", { class: "error", role: "alert" }, state.error),
				h("div", { class: "buttons" }, h("button", { onclick: save }, "Download")),
			),
		];
	},
};
