// The keyboard: "/" filters, "g" and a letter goes to a page, arrows move through rows, "?" tells all this.

import { NAVIGATION } from "../pages/index.js";
import { link } from "./route.js";
import { h } from "./view.js";

const PREFIX_MS = 1_500;

export function listenToKeys(ctx) {
	let prefixAt = 0;
	document.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || !ctx.user) return;
		const isTyping = event.target.closest("input:not([type=checkbox]), textarea, select");
		if (isTyping) {
			if (event.key === "Escape" && event.target.id === "filter") event.target.blur();
			return;
		}
		if (event.target.closest("dialog, svg")) return;
		const isPrefixed = Date.now() - prefixAt < PREFIX_MS;
		prefixAt = 0;
		if (isPrefixed) goTo(ctx, event);
		else if (event.key === "g") prefixAt = Date.now();
		else if (event.key === "/") focus(event, document.getElementById("filter"));
		else if (event.key === "?") help(ctx, event);
		else if (event.key === "ArrowDown" || event.key === "ArrowUp") moveInRows(event);
	});
}

function goTo(ctx, event) {
	const page = NAVIGATION.flatMap(({ pages }) => pages).find(({ key }) => key === event.key);
	if (!page || (page.tag && !ctx.may(page.tag))) return;
	event.preventDefault();
	ctx.go(link(page.id));
}

function focus(event, element) {
	if (!element) return;
	event.preventDefault();
	element.focus();
	element.select?.();
}

function moveInRows(event) {
	const links = [...document.querySelectorAll("main .list tbody th a")];
	if (!links.length) return;
	const here = links.indexOf(document.activeElement.closest("tr")?.querySelector("th a"));
	const step = event.key === "ArrowDown" ? 1 : -1;
	focus(event, links[Math.min(links.length - 1, Math.max(0, here + step))]);
}

function help(ctx, event) {
	event.preventDefault();
	const rows = [
		["/", "Filter the list"],
		["↑ ↓", "Move through the rows of a list"],
		["Enter", "Open the row"],
		["Esc", "Close a dialog, leave the filter"],
		...NAVIGATION.flatMap(({ pages }) => pages)
			.filter((page) => !page.tag || ctx.may(page.tag))
			.map((page) => [`g ${page.key}`, page.label]),
		["?", "Show this"],
	];
	ctx.dialog(() =>
		h(
			"dialog",
			{
				key: "help",
				"aria-labelledby": "dialog-title",
				created: (node) => queueMicrotask(() => node.showModal()),
				onclose: () => ctx.dialog(null),
			},
			h(
				"form",
				{ method: "dialog" },
				h("h2", { id: "dialog-title" }, "Keys"),
				h(
					"dl",
					{ class: "keys" },
					rows.map(([key, what]) => [
						h(
							"dt",
							null,
							key.split(" ").map((one) => h("kbd", null, one)),
						),
						h("dd", null, what),
					]),
				),
				h("footer", null, h("button", { class: "primary", onclick: () => ctx.dialog(null), type: "button" }, "Close")),
			),
		),
	);
}
