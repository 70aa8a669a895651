// Time ranges of charts: which there are, how samples of one are asked for, and the choice at the head of a page.

import { h } from "./view.js";

const RANGES = [
	{ id: "1m", label: "1 minute", age: 60, incr: 5 },
	{ id: "10m", label: "10 minutes", age: 600, incr: 5 },
	{ id: "1h", label: "1 hour", age: 3600, incr: 60 },
	{ id: "8h", label: "8 hours", age: 28800, incr: 600 },
	{ id: "1d", label: "1 day", age: 86400, incr: 1800 },
];
/** The node keeps no more than an hour of single queues, exchanges, connections and channels. */
export const SHORT_RANGES = RANGES.slice(0, 3);
const DEFAULT = RANGES[1];

const rangeOf = (query) => RANGES.find((range) => range.id === query.range) ?? DEFAULT;

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

/** The choice of the range; nothing while the node tells no samples. */
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
					href: ctx.here({ range: range === DEFAULT ? "" : range.id }),
					"aria-current": range === chosen ? "true" : null,
					title: range.label,
				},
				range.id,
			),
		),
	);
}
