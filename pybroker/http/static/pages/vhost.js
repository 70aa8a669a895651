// One virtual host: its figures, and who may do what in it.

import { setLimits } from "../actions/limits.js";
import { permissionActions, setPermissions, setTopics, topicActions } from "../actions/permissions.js";
import { vhostButtons } from "../actions/vhosts.js";
import { path } from "../lib/api.js";
import { chart } from "../lib/chart.js";
import { count, limitsOf } from "../lib/format.js";
import { facts, heading, nameOf, sectionWith, sideBySide } from "../lib/parts.js";
import { rangeChoice, samplesOf } from "../lib/ranges.js";
import { perSecond, queued } from "../lib/series.js";
import { permissionsTable, topicsTable } from "./permissions.js";
import { linksInto } from "./vhosts.js";

const MESSAGES = [
	["publish", "Published"],
	["deliver_get", "Delivered"],
	["ack", "Acknowledged"],
	["confirm", "Confirmed"],
	["redeliver", "Redelivered"],
];

export const page = {
	title: ({ args: [name] }) => name,

	async load(ctx, get) {
		const [name] = ctx.args;
		const isAdministrator = ctx.may("administrator");
		const [vhost, permissions, topics, limits] = await Promise.all([
			isAdministrator
				? get(path`/api/vhosts/${name}`, samplesOf(ctx.query, "msg_rates", "lengths"))
				: get("/api/vhosts").then((vhosts) => vhosts.find((one) => one.name === name)),
			isAdministrator ? get(path`/api/vhosts/${name}/permissions`) : null,
			isAdministrator ? get(path`/api/vhosts/${name}/topic-permissions`) : null,
			isAdministrator ? get(path`/api/vhost-limits/${name}`) : null,
		]);
		return { vhost, permissions, topics, limits: limits?.[0]?.value ?? {} };
	},

	view(ctx, { vhost, permissions, topics, limits }) {
		if (!vhost) return heading("Virtual host", nameOf(ctx.args[0]), "It does not exist, or you may not enter it.");
		return [
			heading(
				"Virtual host",
				nameOf(vhost.name),
				vhost.description,
				rangeChoice(ctx),
				ctx.may("administrator") && vhostButtons(ctx, vhost),
			),
			sideBySide(
				chart(ctx, { id: "vhost-lengths", title: "Messages in queues", series: queued(ctx, vhost) }),
				chart(ctx, {
					id: "vhost-rates",
					title: "Messages per second",
					unit: "rate",
					series: perSecond(ctx, vhost.message_stats, MESSAGES),
				}),
			),
			sectionWith(
				"Virtual host",
				permissions && setLimits(ctx, "vhost", { row: { vhost: vhost.name, value: limits }, label: "Set limits …" }),
				facts([
					["Show", linksInto(vhost.name, ["queues", "exchanges", "connections", "channels"])],
					["Tags", (vhost.tags ?? []).join(", ")],
					["Queues are by default", vhost.default_queue_type === "undefined" ? null : vhost.default_queue_type],
					["Most connections", limitsOf(limits, "max-connections")],
					["Most queues", limitsOf(limits, "max-queues")],
					["Firehose", vhost.tracing ? "on: messages are copied to exchange “amq.rabbitmq.trace”" : "off"],
					[
						"Messages",
						`${count(vhost.messages_ready ?? 0)} ready, ${count(vhost.messages_unacknowledged ?? 0)} unacknowledged`,
					],
				]),
			),
			permissions &&
				sectionWith(
					"Permissions",
					setPermissions(ctx, { vhost: vhost.name, label: "Give permissions …" }),
					permissionsTable(ctx, permissions, "user", permissionActions(ctx)),
				),
			topics &&
				sectionWith(
					"Topic permissions",
					setTopics(ctx, { vhost: vhost.name }),
					topicsTable(ctx, topics, "user", topicActions(ctx)),
				),
		];
	},
};
