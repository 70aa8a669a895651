// Lists: a table whose filter, order, page and columns are in the address.
//
// A column: {id, label, cell(row), sort, needs, num, off, hint}. `sort` is a dotted key of the row, `needs` are those that the
// cell is made of, `num` is for figures, `off` columns are shown when they are asked for.

import { at, count, counted } from "./format.js";
import { h } from "./view.js";

const PAGE_SIZE = 100;
const TYPING_MS = 250;
// Figures that are shown less loudly.
const NOTHING = new Set(["0", "0/s", "0 B/s", "–"]);
let typing = 0;

const presetOf = (presets, query) => presets.find(({ id }) => id && id === query.preset);

/** A preset shows the column that it orders by, chosen or not. */
const visible = (columns, query, preset) => {
	const wanted = query.cols?.split(",");
	return columns.filter(({ id, off }) => id === preset?.by || (wanted ? wanted.includes(id) : !off));
};

/** Each preset orders from the largest figure down, until another order is asked for. */
const order = (columns, query, preset) => {
	const found = columns.find((column) => column.sort && column.id === (query.sort ?? preset?.by));
	return found ? { id: found.id, key: found.sort, down: query.sort ? query.desc === "1" : true } : null;
};

/** Return the keys of a row that the visible columns show; a column `needs` what it is sorted by, or says what. */
export function keysOf(columns, query, presets, ...always) {
	const shown = visible(columns, query, presetOf(presets, query)).flatMap(({ needs, sort }) => needs ?? [sort]);
	return [...new Set([...always, ...shown])].join(",");
}

/** Return the parameters for a list that the node cuts into pages. */
export function pageOf(columns, query, presets = []) {
	const preset = presetOf(presets, query);
	const sorted = order(columns, query, preset);
	return {
		where: preset?.where,
		page: query.page ?? 1,
		page_size: PAGE_SIZE,
		pagination: "true",
		name: query.name,
		use_regex: query.regex === "1" ? "true" : "false",
		sort: sorted?.key,
		sort_reverse: sorted?.down ? "true" : undefined,
	};
}

/** Return the same envelope for a list that is here as a whole. `text(row)` is what the filter looks at. */
export function pageHere(rows, columns, query, text) {
	let found = rows;
	if (query.name) {
		const fits = matcher(query.name, query.regex === "1");
		found = rows.filter((row) => fits(text(row)));
	}
	const sorted = order(columns, query);
	if (sorted)
		found = [...found].sort(
			(one, other) => compare(at(one, sorted.key), at(other, sorted.key)) * (sorted.down ? -1 : 1),
		);
	const pages = Math.max(1, Math.ceil(found.length / PAGE_SIZE));
	const page = Math.min(pages, Number(query.page ?? 1));
	return {
		items: found.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE),
		total_count: rows.length,
		filtered_count: found.length,
		page,
		page_count: pages,
	};
}

function matcher(wanted, isRegex) {
	if (isRegex) {
		try {
			const pattern = new RegExp(wanted, "iu");
			return (text) => pattern.test(text);
		} catch {
			return () => false;
		}
	}
	const lower = wanted.toLowerCase();
	return (text) => text.toLowerCase().includes(lower);
}

function compare(one, other) {
	if (typeof one === "number" || typeof other === "number") return (Number(one) || 0) - (Number(other) || 0);
	return String(one ?? "").localeCompare(String(other ?? ""), "en", { numeric: true });
}

/**
 * A list with all that belongs to it. `envelope` as above; `name(row)` identifies a row in words, `key(row)` in the document.
 * `presets`: [{id, label, hint, by, where, none}]: rows that meet `where`, ordered `by` a column, and what is said if there
 * is none; the first is the list as it is. `selection`: {chosen: Map, actions: [{label, run(rows), danger}]}.
 */
export function list(
	ctx,
	{ noun, nouns = `${noun}s`, columns, envelope, key, name, presets = [], selection, empty },
) {
	const preset = presetOf(presets, ctx.query);
	const shown = visible(columns, ctx.query, preset);
	const isFiltered = Boolean(ctx.query.name || preset?.where);
	return h(
		"section",
		{ class: "list", "aria-label": nouns },
		tools(ctx, { noun, nouns, columns, shown, envelope, isFiltered }),
		presets.length > 0 && presetBar(ctx, presets, nouns),
		selection?.chosen.size > 0 && chosenBar(ctx, selection, noun, nouns),
		envelope.items.length
			? table(ctx, { caption: nouns, columns: shown, rows: envelope.items, key, name, selection, preset })
			: h(
					"p",
					{ class: "empty" },
					ctx.query.name
						? `No ${noun} matches “${ctx.query.name}”.`
						: (preset?.none ?? empty ?? `There are no ${nouns}.`),
				),
		envelope.page_count > 1 && pager(ctx, envelope),
	);
}

function tools(ctx, { noun, nouns, columns, shown, envelope, isFiltered }) {
	const total = isFiltered
		? `${count(envelope.filtered_count)} of ${counted(envelope.total_count, noun, nouns)}`
		: counted(envelope.total_count, noun, nouns);
	return h(
		"div",
		{ class: "tools" },
		h(
			"form",
			{ class: "filter", role: "search", onsubmit: (event) => event.preventDefault() },
			h("input", {
				type: "search",
				id: "filter",
				"aria-label": `Filter ${nouns} by name`,
				placeholder: "Filter by name  /",
				value: ctx.query.name ?? "",
				spellcheck: "false",
				autocomplete: "off",
				oninput: (event) => {
					const { value } = event.target;
					clearTimeout(typing);
					typing = setTimeout(() => ctx.replace({ name: value, page: "" }), TYPING_MS);
				},
			}),
			h(
				"label",
				{ class: "check", title: "The filter is a regular expression" },
				h("input", {
					type: "checkbox",
					checked: ctx.query.regex === "1",
					onchange: (event) => ctx.replace({ regex: event.target.checked ? "1" : "", page: "" }),
				}),
				"Regex",
			),
		),
		h("span", { class: "total", role: "status" }, total),
		h(
			"details",
			{ class: "menu", onkeydown: closeByEscape, onfocusout: closeBehind },
			h("summary", null, "Columns"),
			h(
				"fieldset",
				null,
				h("legend", { class: "sr" }, "Columns"),
				columns.slice(1).map((column) =>
					h(
						"label",
						{ class: "check" },
						h("input", {
							type: "checkbox",
							checked: shown.includes(column),
							onchange: (event) => {
								const now = columns.filter((one) => (one === column ? event.target.checked : shown.includes(one)));
								const usual = columns.filter((one) => !one.off);
								const isUsual = now.length === usual.length && now.every((one) => usual.includes(one));
								ctx.replace({ cols: isUsual ? "" : now.map((one) => one.id).join(",") });
							},
						}),
						column.label,
					),
				),
			),
		),
	);
}

/** The presets have a row of their own, so that they stay where they are pressed. */
const presetBar = (ctx, presets, nouns) =>
	h(
		"div",
		{ class: "presets" },
		h(
			"div",
			{ class: "segments", role: "group", "aria-label": `Which ${nouns}` },
			presets.map(({ id, hint, label }) =>
				h(
					"a",
					{
						href: ctx.here({ preset: id, sort: "", desc: "", page: "" }),
						title: hint,
						"aria-current": (ctx.query.preset ?? "") === id ? "true" : null,
					},
					label,
				),
			),
		),
	);

function closeByEscape(event) {
	if (event.key !== "Escape") return;
	event.currentTarget.open = false;
	event.currentTarget.querySelector("summary").focus();
}

/** Close a menu when the focus goes elsewhere; what holds the menu itself is focused by a click into it. */
function closeBehind({ currentTarget: menu, relatedTarget: next }) {
	if (next && !menu.contains(next) && !next.contains(menu)) menu.open = false;
}

function chosenBar(ctx, { chosen, actions }, noun, nouns) {
	return h(
		"div",
		{ class: "chosen", role: "region", "aria-label": "Selection" },
		h("b", { role: "status" }, `${counted(chosen.size, noun, nouns)} selected`),
		actions.map((action) =>
			h(
				"button",
				{ class: action.danger ? "danger" : null, onclick: () => action.run([...chosen.values()]) },
				action.label,
			),
		),
		h(
			"button",
			{
				class: "plain",
				onclick: () => {
					chosen.clear();
					ctx.draw();
				},
			},
			"Clear",
		),
	);
}

/** The table alone: for small lists within a page, too. */
export function table(ctx, { caption, columns, rows, key, name, selection, preset, isPlain = false }) {
	const sorted = isPlain ? null : order(columns, ctx.query, preset);
	const isAll = selection && rows.every((row) => selection.chosen.has(key(row)));
	return h(
		"div",
		{ class: "scroll", tabindex: "0", role: "region", "aria-label": `${caption}, table` },
		h(
			"table",
			{ class: selection ? "selectable" : null },
			h("caption", { class: "sr" }, caption),
			h(
				"thead",
				null,
				h(
					"tr",
					null,
					selection &&
						h(
							"th",
							{ scope: "col", class: "tick" },
							h("input", {
								type: "checkbox",
								"aria-label": "Select all on this page",
								checked: isAll,
								indeterminate: !isAll && rows.some((row) => selection.chosen.has(key(row))),
								onchange: (event) => {
									for (const row of rows) choose(selection.chosen, key(row), row, event.target.checked);
									ctx.draw();
								},
							}),
						),
					columns.map((column) => head(ctx, column, sorted, preset, isPlain)),
				),
			),
			h(
				"tbody",
				null,
				rows.map((row) =>
					h(
						"tr",
						{ key: key(row), "aria-selected": selection?.chosen.has(key(row)) ? "true" : null },
						selection &&
							h(
								"td",
								{ class: "tick" },
								h("input", {
									type: "checkbox",
									"aria-label": `Select ${name(row)}`,
									checked: selection.chosen.has(key(row)),
									onchange: (event) => {
										choose(selection.chosen, key(row), row, event.target.checked);
										ctx.draw();
									},
								}),
							),
						columns.map((column, i) => cell(column, row, i === 0)),
					),
				),
			),
		),
	);
}

function cell(column, row, isFirst) {
	const content = column.cell(row);
	const kind = column.num ? `num${NOTHING.has(content) ? " zero" : ""}` : column.class;
	return h(isFirst ? "th" : "td", { scope: isFirst ? "row" : null, class: kind }, content);
}

function choose(chosen, key, row, isChosen) {
	if (isChosen) chosen.set(key, row);
	else chosen.delete(key);
}

function head(ctx, column, sorted, preset, isPlain) {
	const className = column.num ? "num" : column.class;
	if (!column.sort || isPlain) return h("th", { scope: "col", class: className, title: column.hint }, column.label);
	const isThis = sorted?.id === column.id;
	// Figures are wanted from the largest down.
	const down = isThis ? !sorted.down : Boolean(column.num);
	const arrow = isThis && h("span", { class: "arrow", "aria-hidden": "true" }, sorted.down ? "▾" : "▴");
	const sortedBy = isThis ? (sorted.down ? "descending" : "ascending") : null;
	return h(
		"th",
		{ scope: "col", class: className, "aria-sort": sortedBy, title: column.hint },
		h(
			"a",
			{ href: ctx.here({ sort: column.id, desc: down ? "1" : "", preset: preset?.where ? preset.id : "", page: "" }) },
			// Figures end where their label does.
			column.num ? [arrow, column.label] : [column.label, arrow],
		),
	);
}

function pager(ctx, { page, page_count: pages }) {
	const to = (number, text, isOff, label) =>
		isOff
			? h("span", { class: "off", "aria-hidden": "true" }, text)
			: h("a", { href: ctx.here({ page: number === 1 ? "" : number }), "aria-label": label }, text);
	return h(
		"nav",
		{ class: "pager", "aria-label": "Pages of the list" },
		to(1, "«", page <= 1, "First page"),
		to(page - 1, "‹", page <= 1, "Previous page"),
		h("span", null, `Page ${count(page)} of ${count(pages)}`),
		to(page + 1, "›", page >= pages, "Next page"),
		to(pages, "»", page >= pages, "Last page"),
	);
}
