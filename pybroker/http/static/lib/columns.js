// Columns that several lists have. One of figures is ordered by them; `more`: what else it has, such as `off`.

import { at, count, octetRate, octets, rate, rateOf } from "./format.js";
import { vhostLink } from "./parts.js";

export const VHOST_COLUMN = {
	id: "vhost",
	label: "Virtual host",
	sort: "vhost",
	class: "wide",
	cell: (row) => vhostLink(row.vhost),
};

const figures = (shown) => (id, label, key, more) => ({
	id,
	label,
	sort: key,
	num: true,
	cell: (row) => shown(at(row, key)),
	...more,
});
export const countColumn = figures(count);
export const octetsColumn = figures(octets);
export const rateColumn = figures(rate);

/** The rate of a counter of messages. */
export const perSecond = (id, label, counter, more) => {
	const key = `message_stats.${counter}`;
	return {
		...rateColumn(id, label, `${key}_details.rate`, more),
		needs: [key, `${key}_details.rate`],
		cell: (row) => rate(rateOf(row.message_stats, counter)),
	};
};

/** The rate of a counter of octets. */
export const octetsPerSecond = (id, label, counter) => ({
	...rateColumn(id, label, `${counter}_details.rate`),
	cell: (row) => octetRate(rateOf(row, counter)),
});
