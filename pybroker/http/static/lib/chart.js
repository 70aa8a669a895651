// Charts of series over time, as SVG, with a legend that tells the figures and a table behind.

import { clock, compact, count, octetRate, octets, rate } from "./format.js";
import { latest } from "./series.js";
import { h } from "./view.js";

const WIDTH = 600;
const HEIGHT = 140;
// How figures read in the legend and at the axis, and whether round ones are powers of 2 or of 10.
const UNITS = {
	count: { full: count, axis: compact, base: 10 },
	rate: { full: rate, axis: (value) => `${compact(value)}/s`, base: 10 },
	octets: { full: octets, axis: octets, base: 2 },
	octetRate: { full: octetRate, axis: octetRate, base: 2 },
};
// Of each chart by its id: the time that is pointed at; whether its table is open.
const pointed = new Map();
const opened = new Set();

/** A chart. `series`: [{name, points, now}], `now` being the figure of this moment; `unit` is one of UNITS. */
export function chart(ctx, { id, title, unit = "count", series }) {
	const times = timesOf(series);
	const { full } = UNITS[unit];
	const at = pointed.has(id) && times.length ? nearest(times, pointed.get(id)) : null;
	return h(
		"figure",
		{ class: "chart", key: id },
		h("figcaption", null, title),
		times.length
			? [
					plot(ctx, { id, title, unit, series, times, at }),
					legend(series, at, full),
					tableBehind(ctx, { id, title, series, times, full }),
				]
			: h("p", { class: "quiet empty" }, "Waiting for a second sample …"),
	);
}

/** The lines between two axes. */
function plot(ctx, { id, title, unit, series, times, at }) {
	const { full, axis, base } = UNITS[unit];
	const [from, to] = [times[0], times.at(-1)];
	const top = ceiling(Math.max(...series.flatMap(drawn).map(([, value]) => value)), base);
	const x = (time) => ((time - from) / (to - from || 1)) * WIDTH;
	const y = (value) => HEIGHT - (value / top) * HEIGHT;
	const told = series.map((one) => `${one.name} ${full(latest(one))}`).join(", ");
	return h(
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
				"aria-label": `${title}, ${clock(from)} to ${clock(to)}. ${told}. Arrow keys read single times.`,
				...pointing(ctx, id, times, at),
			},
			[0, 0.5, 1].map((part) => h("line", { class: "grid", x1: 0, x2: WIDTH, y1: HEIGHT * part, y2: HEIGHT * part })),
			series.map((one, i) => line(drawn(one), i, x, y)),
			at !== null && h("line", { class: "pointer", x1: x(at), x2: x(at), y1: 0, y2: HEIGHT }),
		),
		h(
			"div",
			{ class: "times", "aria-hidden": "true" },
			h("span", null, clock(from)),
			at !== null && h("span", { class: "at" }, clock(at)),
			h("span", null, clock(to)),
		),
	);
}

/** What makes a chart point at a time: the pointer over it, or arrow keys. */
function pointing(ctx, id, times, at) {
	const [from, to] = [times[0], times.at(-1)];
	const point = (time) => {
		if (time === null) pointed.delete(id);
		else pointed.set(id, time);
		ctx.draw();
	};
	return {
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
	};
}

const line = (points, i, x, y) =>
	points.length > 0 &&
	h("path", {
		class: `line s${i}`,
		d: `M${points.map(([time, value]) => `${x(time).toFixed(1)} ${y(value).toFixed(1)}`).join("L")}`,
	});

/** The figures of each series: those of the time that is pointed at, else of now. */
const legend = (series, at, full) =>
	h(
		"ul",
		{ class: "legend", "aria-live": at === null ? "off" : "polite" },
		series.map((one, i) =>
			h(
				"li",
				null,
				swatch(i),
				h("span", null, one.name),
				h("b", null, full(at === null ? latest(one) : valueAt(one, at))),
			),
		),
	);

const swatch = (i) =>
	h(
		"svg",
		{ class: "swatch", viewBox: "0 0 20 8", "aria-hidden": "true" },
		h("line", { class: `line s${i}`, x1: 0, x2: 20, y1: 4, y2: 4 }),
	);

/** All figures as text, the newest first, for those who ask for them. */
function tableBehind(ctx, { id, title, series, times, full }) {
	const ontoggle = (event) => {
		if (event.currentTarget.open === opened.has(id)) return;
		if (event.currentTarget.open) opened.add(id);
		else opened.delete(id);
		ctx.draw();
	};
	const row = (time) =>
		h(
			"tr",
			null,
			h("th", { scope: "row" }, clock(time)),
			series.map((one) => h("td", { class: "num" }, full(valueAt(one, time)))),
		);
	return h(
		"details",
		{ ontoggle },
		h("summary", null, "Table"),
		opened.has(id) &&
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
					h("tbody", null, [...times].reverse().map(row)),
				),
			),
	);
}

// -- figures ----------------------------------------------------------------------------------------------------------

/** The points of a series that make a line. */
const drawn = ({ points }) => (points.length > 1 ? points : []);
const timesOf = (series) => [...new Set(series.flatMap(drawn).map(([time]) => time))].sort((a, b) => a - b);
const valueAt = ({ points }, time) => points.find(([other]) => other === time)?.[1];
const nearest = (times, time) =>
	times.reduce((best, other) => (Math.abs(other - time) < Math.abs(best - time) ? other : best));

/** The least round figure that is not below `value`. */
function ceiling(value, base) {
	if (value <= 0) return base === 2 ? 1024 : 10;
	if (base === 2) return 2 ** Math.ceil(Math.log2(value));
	const power = 10 ** Math.floor(Math.log10(value));
	return [1, 2, 4, 5, 10].map((part) => part * power).find((one) => one >= value);
}
