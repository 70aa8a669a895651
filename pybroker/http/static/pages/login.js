// The login: name and password become a session; nothing of them is kept.

import { field, problem, valuesOf } from "../lib/form.js";
import { h } from "../lib/view.js";

const FIELDS = [
	{ name: "name", label: "User name", required: true, autocomplete: "username", full: true },
	{
		name: "password",
		label: "Password",
		type: "password",
		required: true,
		autocomplete: "current-password",
		full: true,
	},
];
const state = { error: "", isBusy: false };

export function loginPage(ctx, enter, why) {
	const onsubmit = async (event) => {
		event.preventDefault();
		const form = event.currentTarget;
		const { name, password } = valuesOf(form, FIELDS);
		Object.assign(state, { error: "", isBusy: true });
		ctx.draw();
		try {
			await enter(name, password);
		} catch (error) {
			state.error =
				error.status === 429
					? "Too many failed logins from this address. Wait a minute."
					: error.isOffline
						? "The node does not answer."
						: error.message;
		}
		state.isBusy = false;
		form.reset();
		ctx.draw();
	};
	return h(
		"form",
		{ class: "login card", onsubmit, key: "login" },
		h("h1", null, "Log in"),
		why && !state.error && h("p", { role: "status" }, why),
		FIELDS.map((one) => field(one, "login")),
		problem(state.error),
		h("button", { class: "primary", disabled: state.isBusy }, state.isBusy ? "Logging in …" : "Log in"),
	);
}
