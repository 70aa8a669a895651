// Figures, sizes, times and names as people read them.

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const NONE = "–";

const known = (value) => typeof value === "number" && Number.isFinite(value);

/** 12,345 */
export const count = (value) => (known(value) ? whole.format(value) : NONE);
/** 12.3K, for axes */
export const compact = (value) => (known(value) ? short.format(value) : NONE);

/** 1.25 MiB */
export function octets(value) {
	if (!known(value)) return NONE;
	const power = value < 1024 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(value) / 10));
	const scaled = value / 1024 ** power;
	return `${power && scaled < 100 ? Number(scaled.toPrecision(3)) : whole.format(Math.round(scaled))} ${UNITS[power]}`;
}

/** 1,234/s; small rates keep a digit. */
export function rate(value) {
	if (!known(value)) return NONE;
	const size = Math.abs(value);
	return `${size && size < 9.95 ? value.toFixed(1) : whole.format(Math.round(value))}/s`;
}

export const octetRate = (value) => (known(value) ? `${octets(value)}/s` : NONE);

/** 3 d 4 h: the two largest units of a number of milliseconds. */
export function lasting(ms) {
	if (!known(ms)) return NONE;
	const seconds = Math.max(0, Math.floor(ms / 1000));
	if (seconds < 1) return ms > 0 ? "< 1 s" : "0 s";
	const parts = [
		["d", 86400, Infinity],
		["h", 3600, 24],
		["min", 60, 60],
		["s", 1, 60],
	].map(([name, length, limit]) => [Math.floor(seconds / length) % limit, name]);
	const first = parts.findIndex(([number]) => number > 0);
	return parts
		.slice(first, first + 2)
		.filter(([number]) => number)
		.map(([number, name]) => `${number} ${name}`)
		.join(" ");
}

const twoDigits = (number) => String(number).padStart(2, "0");

/** 2026-05-01 12:00:00, in the zone of the browser */
export function moment(ms) {
	const date = new Date(ms);
	if (ms === null || ms === undefined || ms === "" || Number.isNaN(date.getTime())) return NONE;
	return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())} ${clock(ms)}`;
}

/** 12:00:00 */
export function clock(ms) {
	const date = new Date(ms);
	return `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}:${twoDigits(date.getSeconds())}`;
}

/** 1 queue, 2 queues */
export const counted = (number, noun, many = `${noun}s`) => `${count(number)} ${number === 1 ? noun : many}`;

/** A value of a table of arguments. */
export const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** The value at a dotted path, as in RabbitMQ's parameters; undefined where there is none. */
export const at = (row, path) => path.split(".").reduce((value, key) => value?.[key], row);

/** The rate of a counter of that name; 0 if it never moved, undefined if the node does not know it (yet). */
export const rateOf = (counters, name) => counters?.[`${name}_details`]?.rate ?? (counters?.[name] ? undefined : 0);

/** A limit of that name, in words. */
export const limitsOf = (limits, name) =>
	limits[name] === undefined || limits[name] < 0 ? "no limit" : count(limits[name]);
