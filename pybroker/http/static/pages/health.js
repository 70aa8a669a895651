// Alarms and health: whom the node holds back and why, its checks, and where its memory is.

import { path } from "../lib/api.js";
import { count, lasting, octets } from "../lib/format.js";
import { connectionLink, heading, section, sentence, state, toDo, userLink } from "../lib/parts.js";
import { table } from "../lib/table.js";
import { h } from "../lib/view.js";

const CHECKS = [
	["/api/health/checks/alarms", "No alarm is in effect"],
	["/api/health/checks/virtual-hosts", "All virtual hosts run"],
	["/api/health/checks/certificate-expiration/1/months", "No certificate expires within a month"],
];

export const page = {
	title: () => "Alarms and health",

	async load(ctx, get) {
		const blocked = await get("/api/pybroker/why-blocked");
		const [checks, { memory }] = await Promise.all([
			Promise.all(CHECKS.map(([place]) => verdict(get, place))),
			get(path`/api/nodes/${blocked.node}/memory`),
		]);
		return { blocked, checks, memory };
	},

	view: (ctx, { blocked, checks, memory }) => [
		heading("", "Alarms and health", blocked.message),
		blocked.alarms.length > 0 &&
			section(
				"Alarms",
				blocked.alarms.map((alarm) =>
					h(
						"div",
						{ class: "inline" },
						h("h3", null, alarm.title),
						h("p", null, sentence(alarm.why)),
						h("p", null, toDo(alarm.advice)),
					),
				),
			),
		blocked.notices.length > 0 &&
			section(
				"Notices",
				h(
					"ul",
					null,
					blocked.notices.map((notice) => h("li", null, notice)),
				),
			),
		section("Connections that are held back", heldBack(ctx, blocked)),
		h(
			"div",
			{ class: "columns uneven" },
			section(
				"Checks",
				h(
					"ul",
					{ class: "inline" },
					checks.map(({ isGood, reason }, i) =>
						h(
							"li",
							null,
							h(
								"span",
								{ class: `state told ${isGood ? "ok" : "bad"}` },
								h("span", { "aria-hidden": "true" }, isGood ? "●" : "■"),
								isGood ? "passed" : "failed",
							),
							" – ",
							CHECKS[i][1],
							!isGood && h("p", { class: "bad" }, reason),
						),
					),
				),
			),
			section("Memory", memoryTable(ctx, memory)),
		),
	],
};

/** A check that fails answers 503, as a node that is away does. */
async function verdict(get, place) {
	try {
		await get(place);
		return { isGood: true };
	} catch (error) {
		if (error.facts?.status !== "failed") throw error;
		return { isGood: false, reason: error.message };
	}
}

function heldBack(ctx, { alarms, connections, left_out: more }) {
	// The alarms above say it once for all.
	const isTold = ({ why }) => alarms.some((alarm) => alarm.why === why);
	if (!connections.length) return h("p", { class: "quiet" }, "None.");
	return [
		table(ctx, {
			caption: "Connections that are held back",
			isPlain: true,
			rows: connections,
			key: (one) => one.pid,
			columns: [
				{
					label: "Connection",
					class: "name",
					cell: (one) => [
						connectionLink(one.name, one.user_provided_name || one.name),
						one.user_provided_name && h("small", null, one.name),
					],
				},
				{ label: "User", cell: (one) => userLink(one.user) },
				{ label: "State", cell: (one) => state(one.state) },
				{
					label: "Why",
					class: "wrap",
					cell: (one) =>
						one.causes.map((cause) =>
							h(
								"div",
								null,
								isTold(cause) ? `It ${cause.message}.` : [`It ${cause.message}: ${cause.why}. `, toDo(cause.advice)],
							),
						),
				},
				{ label: "Blocked in all", num: true, cell: (one) => lasting(one.blocked_time) },
				{ label: "Throttled in all", num: true, cell: (one) => lasting(one.flow_time) },
			],
		}),
		more > 0 && h("p", { class: "quiet" }, `And ${count(more)} more.`),
	];
}

function memoryTable(ctx, memory) {
	const total = memory.total?.rss ?? memory.total;
	const rows = Object.entries(memory)
		.filter(([name, value]) => typeof value === "number" && name !== "total")
		.sort(([, one], [, other]) => other - one);
	return table(ctx, {
		caption: "Memory by use",
		isPlain: true,
		rows,
		key: ([name]) => name,
		columns: [
			{ label: "For", cell: ([name]) => name.replaceAll("_", " ") },
			{ label: "Octets", num: true, cell: ([, value]) => octets(value) },
			{ label: "Part", num: true, cell: ([, value]) => (total ? `${((100 * value) / total).toFixed(1)} %` : "") },
		],
	});
}
