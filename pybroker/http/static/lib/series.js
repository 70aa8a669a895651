// Series of charts: the samples of the node or, where it tells none, what a page has seen since it was opened.

import { rateOf } from "./format.js";

const SEEN_MAX = 300;

/** [[time, value], ...], the oldest first: a figure over time. `id` tells it from others of the page. */
export function levels(ctx, id, value, details) {
	if (!details?.samples) return seen(ctx, id, value);
	ctx.state.isSampled = true;
	return details.samples.map(({ sample, timestamp }) => [timestamp, sample]).reverse();
}

/** The same for a counter: its increase per second from one sample to the next. */
function rates(ctx, id, value, details) {
	const points = levels(ctx, id, value, details);
	return points
		.slice(1)
		.map(([time, count], i) => [time, Math.max(0, (1000 * (count - points[i][1])) / (time - points[i][0]))]);
}

function seen(ctx, id, value) {
	const points = ((ctx.state.seen ??= {})[id] ??= []);
	if (typeof value === "number" && points.at(-1)?.[0] !== ctx.at) points.push([ctx.at, value]);
	if (points.length > SEEN_MAX) points.shift();
	return [...points];
}

/** The figure of this moment. */
export const latest = (one) => one.now ?? one.points.at(-1)?.[1];

/** Messages in queues, of their `totals`. */
export const queued = (ctx, totals) =>
	[
		["messages_ready", "Ready"],
		["messages_unacknowledged", "Unacknowledged"],
	].map(([key, name]) => ({
		name,
		now: totals?.[key] ?? 0,
		points: levels(ctx, key, totals?.[key] ?? 0, totals?.[`${key}_details`]),
	}));

/** Messages of a stream. */
export const kept = (ctx, { messages, messages_details: details }) => [
	{ name: "Messages", now: messages ?? 0, points: levels(ctx, "messages", messages ?? 0, details) },
];

/** Counters in `rows`, [[key, name], ...], as rates; those after the fourth only where they have moved. */
export const perSecond = (ctx, counters, rows) =>
	rows
		.filter(([key], i) => i < 4 || counters?.[key])
		.map(([key, name]) => ({
			name,
			now: rateOf(counters, key),
			points: rates(ctx, key, counters?.[key] ?? 0, counters?.[`${key}_details`]),
		}));
