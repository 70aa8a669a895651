// Series of charts that several pages show.

import { lengths, rates } from "./chart.js";

/** Messages in queues, of their `totals`. */
export const queued = (totals) =>
	[
		["messages_ready", "Ready"],
		["messages_unacknowledged", "Unacknowledged"],
	].map(([key, name]) => ({
		name,
		now: totals?.[key] ?? 0,
		points: lengths(totals?.[`${key}_details`]),
	}));

/** Messages per second, of counters in `rows`: [[key, name], ...]; those after the fourth only where there are any. */
export const messageRates = (stats, rows) =>
	rows
		.filter(([key], i) => i < 4 || stats?.[key])
		.map(([key, name]) => ({
			name,
			now: stats?.[`${key}_details`]?.rate ?? 0,
			points: rates(stats?.[`${key}_details`]),
		}));
