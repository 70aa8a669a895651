// Pieces that several pages are made of.

import { count, lasting, plain } from "./format.js";
import { link } from "./route.js";
import { h } from "./view.js";

/** A name of anything, which has its own direction of writing. One that nobody could see is told by its code points. */
export const nameOf = (name) =>
	/^[\s\p{C}]+$/u.test(name)
		? h("i", null, Array.from(name, (sign) => `U+${sign.codePointAt(0).toString(16).padStart(4, "0")}`).join(" "))
		: h("bdi", null, name);
/** The default exchange has no name of its own. */
export const exchangeName = (name) => (name === "" ? h("i", null, "(default)") : nameOf(name));

export const queueLink = (vhost, name) => h("a", { href: link("queues", [vhost, name]) }, nameOf(name));
export const exchangeLink = (vhost, name) =>
	h("a", { href: link("exchanges", [vhost, name || "amq.default"]) }, exchangeName(name));
export const vhostLink = (name) => h("a", { href: link("vhosts", [name]) }, nameOf(name));
export const userLink = (name) => (name ? h("a", { href: link("users", [name]) }, nameOf(name)) : "");
export const connectionLink = (name, label = name) =>
	h("a", { href: link("connections", [name]) }, nameOf(label));
export const channelLink = (name, label = name) => h("a", { href: link("channels", [name]) }, nameOf(label));

/** A short word about a noun, with its meaning as a tooltip. */
export const badge = (text, title, kind = "") => h("span", { class: `badge ${kind}`.trim(), title }, text);

export const badges = (...some) => h("span", { class: "badges" }, some);

const STATES = {
	running: "ok",
	idle: "",
	flow: "warn",
	blocked: "bad",
	blocking: "warn",
	down: "bad",
	stopped: "bad",
	starting: "warn",
	closing: "",
};
const SIGNS = { ok: "●", warn: "▲", bad: "■", "": "○" };

/** A state in colour, sign and word. */
export function state(word) {
	const kind = STATES[word] ?? "";
	return word
		? h("span", { class: `state ${kind}`.trim() }, h("span", { "aria-hidden": "true" }, SIGNS[kind]), word)
		: "";
}

/** Names and values, one under the other. Rows without a value are left out. */
export function facts(rows) {
	return h(
		"dl",
		{ class: "facts" },
		rows
			.filter(([, value]) => value !== undefined && value !== null && value !== "")
			.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]),
	);
}

/** Figures in large. `tiles`: [{label, value, note, href, kind}] */
export function tiles(rows) {
	return h(
		"ul",
		{ class: "tiles" },
		rows
			.filter(Boolean)
			.map(({ label, value, note, href, kind }) =>
				h(
					"li",
					{ class: kind },
					href ? h("a", { href }, label) : h("span", { class: "label" }, label),
					h("b", null, value),
					note && h("small", null, note),
				),
			),
	);
}

/** A table of arguments as names and values. */
export function argumentsOf(table) {
	const entries = Object.entries(table ?? {});
	return entries.length
		? h(
				"ul",
				{ class: "arguments" },
				entries.map(([name, value]) =>
					h("li", null, h("span", null, h("bdi", null, name), " = "), h("bdi", null, plain(value))),
				),
			)
		: null;
}

/** A part of a page; `actions` stand beside its title. */
export const section = (title, ...content) => h("section", { class: "card" }, h("h2", null, title), content);
export const sectionWith = (title, actions, ...content) =>
	h(
		"section",
		{ class: "card" },
		h("div", { class: "row" }, h("h2", null, title), h("div", { class: "actions" }, actions)),
		content,
	);

/** Parts of a page that stand side by side where there is room. */
export const sideBySide = (...parts) => h("div", { class: "columns" }, parts);

/** The parts of a page that are shown one at a time; `tabs`: [{id, label, count}], the first is the usual one. */
export function tabs(ctx, all) {
	return h(
		"nav",
		{ class: "tabs", "aria-label": "Parts of this page" },
		all.filter(Boolean).map(({ id, label, number }, i) => {
			const isThis = (ctx.query.tab ?? all[0].id) === id;
			return h(
				"a",
				{ href: ctx.here({ tab: i ? id : "" }), "aria-current": isThis ? "page" : null },
				label,
				number !== undefined && h("span", { class: "number" }, count(number)),
			);
		}),
	);
}

/** Head of a page about one noun. */
export function heading(kind, name, note, ...actions) {
	return h(
		"header",
		{ class: "heading" },
		h(
			"div",
			null,
			kind && h("p", { class: "kind" }, kind),
			h("h1", { tabindex: "-1" }, name),
			note && h("p", { class: "note" }, note),
		),
		h("div", { class: "actions" }, actions),
	);
}

/** The virtual host that a list is confined to, with the way out. */
export const inVHost = (ctx) =>
	ctx.query.vhost && [
		"of virtual host ",
		vhostLink(ctx.query.vhost),
		" – ",
		h("a", { href: ctx.here({ vhost: "", page: "" }) }, "show all"),
	];

export const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** What to do about something: in words, and the command at their end, if there is one. */
export function toDo(advice) {
	const [, words, command] = /^(|.*, or: )(pybrokerctl .*)$/s.exec(advice) ?? [null, `${advice}.`, ""];
	return advice && h("span", null, "What to do: ", words, command && h("code", null, command));
}

export const ago = (ms) => (ms ? `${lasting(Date.now() - ms)} ago` : "");
