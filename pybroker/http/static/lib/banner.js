// Why publishers are blocked, on every page: who, by what, since when, what to do.

import { counted } from "./format.js";
import { sentence, toDo } from "./parts.js";
import { link } from "./route.js";
import { h } from "./view.js";

const NAMES_MAX = 3;

export const banner = {
	async load(ctx, get) {
		return ctx.may("monitoring") ? get("/api/pybroker/why-blocked") : get("/api/pybroker/alarms");
	},

	view(ctx) {
		const found = ctx.around?.trouble;
		if (!found) return null;
		const held = (found.connections ?? []).filter((one) => one.causes.some((cause) => cause.now));
		if (!found.alarms.length && !held.length) return null;
		return h(
			"div",
			{ class: "banner bad", role: "alert", key: "blocked" },
			h("strong", null, held.length ? who(held, found.left_out) : "Publishers will be blocked as soon as they publish"),
			found.alarms.length
				? found.alarms.map((alarm) => h("p", { key: alarm.resource }, alarm.title ? explained(alarm) : alarm.message))
				: held.slice(0, NAMES_MAX).map((one) => cause(one)),
			ctx.may("monitoring") && h("p", null, h("a", { href: link("health") }, "All connections and causes")),
		);
	},
};

const nameOf = (one) => one.user_provided_name || one.name;

function who(held, more) {
	const names = held.slice(0, NAMES_MAX).map(nameOf).join(", ");
	const number = held.length + more;
	return `${counted(number, "connection")} blocked or throttled: ${names}${number > NAMES_MAX ? ", …" : ""}`;
}

const explained = (alarm) => [`${alarm.title} ${alarm.lasting}: ${alarm.why}. `, toDo(alarm.advice)];

const cause = (one) => {
	const [first] = one.causes.filter(({ now }) => now);
	return h("p", { key: one.pid }, `${nameOf(one)} ${first.message}. ${sentence(first.why)} `, toDo(first.advice));
};
