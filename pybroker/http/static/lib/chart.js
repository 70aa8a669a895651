// Charts of samples over time, as SVG, with a legend that tells the figures and a table behind.

import { clock, compact, count, octets, rate } from "./format.js";
import { h } from "./view.js";

const WIDTH = 600;
const HEIGHT = 140;
const UNITS = {
	count: { full: count, axis: compact, base: 10 },
	rate: { full: rate, axis: (value) => `${compact(value)}/s`, base: 10 },
	octets: { full: octets, axis: octets, base: 2 },
	octetRate: { full: (value) => `${octets(value)}/s`, axis: (value) => `${octets(value)}/s`, base: 2 },
};
export const RANGES = [
	{ id: "1m", label: "1 minute", age: 60, incr: 5 },
	{ id: "10m", label: "10 minutes", age: 600, incr: 5 },
	{ id: "1h", label: "1 hour", age: 3600, incr: 60 },
	{ id: "8h", label: "8 hours", age: 28800, incr: 600 },
	{ id: "1d", label: "1 day", age: 86400, incr: 1800 },
];
const DEFAULT_RANGE = RANGES[1];
// Chart -> the time that is pointed at; whether its table is open.
const pointed = new Map();
const opened = new Set();

const rangeOf = (query) => RANGES.find((range) => range.id === query.range) ?? DEFAULT_RANGE;

/** Return the parameters that ask for the samples of a range; `kinds` of msg_rates, data_rates, lengths, node_stats. */
export function samplesOf(query, ...kinds) {
	const { age, incr } = rangeOf(query);
	return Object.fromEntries(
		kinds.flatMap((kind) => [
			[`${kind}_age`, age],
			[`${kind}_incr`, incr],
		]),
	);
}

/** The choice of the range, for the head of a page; nothing while the node tells no samples. */
export function rangeChoice(ctx, ranges = RANGES) {
	if (!ctx.state.isSampled) return null;
	const chosen = rangeOf(ctx.query);
	return h(
		"div",
		{ class: "segments", role: "group", "aria-label": "Time range" },
		ranges.map((range) =>
			h(
				"a",
				{
					href: ctx.here({ range: range === DEFAULT_RANGE ? "" : range.id }),
					"aria-current": range === chosen ? "true" : null,
					title: range.label,
				},
				range.id,
			),
		),
	);
}

/**
 * A chart. `series`: [{name, points, now}], `now` being the figure of this moment; `unit` is one of UNITS.
 */
export function chart(ctx, { id, title, unit = "count", series }) {
	const { full, axis, base } = UNITS[unit];
	const shown = series.filter(({ points }) => points.length > 1);
	const times = [...new Set(shown.flatMap(({ points }) => points.map(([time]) => time)))].sort((a, b) => a - b);
	const head = h("figcaption", null, title);
	if (!times.length)
		return h(
			"figure",
			{ class: "chart", key: id },
			head,
			h("p", { class: "quiet empty" }, "Waiting for a second sample …"),
		);
	const from = times[0];
	const to = times.at(-1);
	const top = ceiling(Math.max(...shown.flatMap(({ points }) => points.map(([, value]) => value))), base);
	const x = (time) => ((time - from) / (to - from || 1)) * WIDTH;
	const y = (value) => HEIGHT - (value / top) * HEIGHT;
	const at = pointed.has(id) ? nearest(times, pointed.get(id)) : null;
	const point = (time) => {
		if (time === null) pointed.delete(id);
		else pointed.set(id, time);
		ctx.draw();
	};
	return h(
		"figure",
		{ class: "chart", key: id },
		head,
		h(
			"div",
			{ class: "plot" },
			h(
				"div",
				{ class: "scale", "aria-hidden": "true" },
				[1, 0.5, 0].map((part) => h("span", null, axis(top * part))),
			),
			h(
				"svg",
				{
					viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
					preserveAspectRatio: "none",
					role: "img",
					tabindex: "0",
					"aria-label": `${title}, ${clock(from)} to ${clock(to)}. ${series.map((one) => `${one.name} ${full(latest(one))}`).join(", ")}. Arrow keys read single times.`,
					onpointermove: (event) => {
						const box = event.currentTarget.getBoundingClientRect();
						point(from + ((event.clientX - box.left) / box.width) * (to - from));
					},
					onpointerleave: () => point(null),
					onblur: () => point(null),
					onkeydown: (event) => {
						const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
						if (!step) return;
						event.preventDefault();
						const index = times.indexOf(at ?? to) + step;
						point(times[Math.min(times.length - 1, Math.max(0, index))]);
					},
				},
				[0, 0.5, 1].map((part) => h("line", { class: "grid", x1: 0, x2: WIDTH, y1: HEIGHT * part, y2: HEIGHT * part })),
				shown.map(({ points, name }) =>
					h("path", {
						class: `line s${series.findIndex((one) => one.name === name)}`,
						d: `M${points.map(([time, value]) => `${x(time).toFixed(1)} ${y(value).toFixed(1)}`).join("L")}`,
					}),
				),
				at !== null && h("line", { class: "pointer", x1: x(at), x2: x(at), y1: 0, y2: HEIGHT }),
			),
			h(
				"div",
				{ class: "times", "aria-hidden": "true" },
				h("span", null, clock(from)),
				at !== null && h("span", { class: "at" }, clock(at)),
				h("span", null, clock(to)),
			),
		),
		h(
			"ul",
			{ class: "legend", "aria-live": at === null ? "off" : "polite" },
			series.map((one, i) =>
				h(
					"li",
					null,
					swatch(i),
					h("span", null, one.name),
					h("b", null, full(at === null ? latest(one) : valueAt(one.points, at))),
				),
			),
		),
		behind(ctx, id, title, series, times, full),
	);
}

const swatch = (i) =>
	h(
		"svg",
		{ class: "swatch", viewBox: "0 0 20 8", "aria-hidden": "true" },
		h("line", { class: `line s${i}`, x1: 0, x2: 20, y1: 4, y2: 4 }),
	);

function behind(ctx, id, title, series, times, full) {
	const isOpen = opened.has(id);
	const ontoggle = (event) => {
		if (event.currentTarget.open === opened.has(id)) return;
		if (event.currentTarget.open) opened.add(id);
		else opened.delete(id);
		ctx.draw();
	};
	return h(
		"details",
		{ ontoggle },
		h("summary", null, "Table"),
		isOpen &&
			h(
				"div",
				{ class: "scroll", tabindex: "0", role: "region", "aria-label": `${title}, table` },
				h(
					"table",
					null,
					h("caption", { class: "sr" }, title),
					h(
						"thead",
						null,
						h(
							"tr",
							null,
							h("th", { scope: "col" }, "Time"),
							series.map((one) => h("th", { scope: "col", class: "num" }, one.name)),
						),
					),
					h(
						"tbody",
						null,
						[...times].reverse().map((time) =>
							h(
								"tr",
								null,
								h("th", { scope: "row" }, clock(time)),
								series.map((one) => h("td", { class: "num" }, full(valueAt(one.points, time)))),
							),
						),
					),
				),
			),
	);
}

/** The figure of this moment. */
export const latest = (one) => one.now ?? one.points.at(-1)?.[1];
const valueAt = (points, time) => points.find(([other]) => other === time)?.[1];
const nearest = (times, time) =>
	times.reduce((best, other) => (Math.abs(other - time) < Math.abs(best - time) ? other : best));

/** The least round figure that is not below `value`. */
function ceiling(value, base) {
	if (value <= 0) return base === 2 ? 1024 : 10;
	if (base === 2) return 2 ** Math.ceil(Math.log2(value));
	const power = 10 ** Math.floor(Math.log10(value));
	return [1, 2, 4, 5, 10].map((part) => part * power).find((one) => one >= value);
}

/** How much of a limit is used: a bar with its figures in words. */
export function meter({ label, value, max, full = count, isBad = false }) {
	const part = max ? Math.min(1, value / max) : 0;
	return h(
		"div",
		{ class: `meter${isBad ? " bad" : part > 0.85 ? " warn" : ""}` },
		h("span", { class: "name" }, label),
		h("span", { class: "figures" }, `${full(value)} of ${full(max)}`),
		h(
			"svg",
			{ viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
			h("rect", { class: "all", width: 100, height: 4 }),
			h("rect", { class: "part", width: (100 * part).toFixed(2), height: 4 }),
		),
	);
}
