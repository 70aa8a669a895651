// Pausing queues: publishers, consumers or both wait until somebody resumes.

import { started } from "../lib/act.js";
import { path, put, remove } from "../lib/api.js";
import { ask } from "../lib/form.js";
import { counted } from "../lib/format.js";
import { h } from "../lib/view.js";

const placeOf = ({ vhost, name }) => path`/api/pybroker/queues/${vhost}/${name}/pause`;

/** Actions on selected queues; `run(queues, done, act)` does it to each. */
export const pauseActions = (ctx, run) => [
	{
		label: "Pause …",
		run: (queues) =>
			askToPause(ctx, `Pause ${counted(queues.length, "queue")}`, (order) =>
				run(queues, "paused", (queue) => put(placeOf(queue), order)),
			),
	},
	{
		label: "Resume …",
		run: (queues) =>
			ask(ctx, {
				title: `Resume ${counted(queues.length, "queue")}`,
				label: "Resume",
				run: () => run(queues, "resumed", (queue) => remove(placeOf(queue))),
			}),
	},
];

/** The button that pauses a queue, or resumes one that is paused. */
export function pauseButton(ctx, queue) {
	if (queue.paused) {
		const resume = started(ctx, async () => {
			await remove(placeOf(queue));
			ctx.notice(`Queue “${queue.name}” resumed.`);
			ctx.refresh();
		});
		return h("button", { onclick: resume }, "Resume");
	}
	const run = async (order) => `${(await put(placeOf(queue), order)).message}.`;
	return h("button", { onclick: () => askToPause(ctx, `Pause queue ${queue.name}`, run) }, "Pause …");
}

function askToPause(ctx, title, run) {
	ask(ctx, {
		title,
		label: "Pause",
		text: "The pause lasts until somebody resumes it, over restarts too.",
		fields: [
			{ name: "why", label: "Reason", required: true, full: true, hint: "Shown to everybody who wonders" },
			{
				name: "whom",
				label: "Who waits",
				type: "select",
				options: [
					["both", "publishers and consumers"],
					["publish", "publishers only"],
					["consume", "consumers only"],
				],
			},
			{
				name: "mode",
				label: "Publishes are",
				type: "select",
				options: [
					["withhold", "withheld: not read, not confirmed"],
					["refuse", "refused: without confirms they are lost"],
				],
			},
		],
		run: ({ why, whom = "both", mode }) =>
			run({ why, publish: whom === "publish", consume: whom === "consume", ...(whom === "consume" ? {} : { mode }) }),
	});
}
