// Messages of a queue, looked at without a trace.

import { decoded } from "../lib/act.js";
import { path, post } from "../lib/api.js";
import { fieldRow } from "../lib/form.js";
import { counted } from "../lib/format.js";
import { section } from "../lib/parts.js";
import { h } from "../lib/view.js";

const WHOLE_OCTETS_MAX = 16_777_216;
const FIELDS = [
	{ name: "start", label: "From", value: "head", hint: "head, tail, a position or offset" },
	{ name: "number", label: "Messages", type: "number", min: 1, max: 500, value: 10 },
	{ name: "where", label: "With header", placeholder: "country=fr" },
	{ name: "match", label: "With text", hint: "In body, properties or routing key" },
	{ name: "unacked", label: "Unacknowledged too", type: "checkbox" },
];

const ask = ({ vhost, name }, wanted) => post(path`/api/pybroker/queues/${vhost}/${name}/peek`, wanted);

/** The form; `run(fields, work)` is what its submission does. */
export function peekPart(queue, run, { isBusy }) {
	const fields = FIELDS.filter(({ name }) => queue.type !== "stream" || name !== "unacked");
	const onsubmit = run(fields, async ({ where, ...wanted }) => {
		const { messages } = await ask(queue, { ...wanted, where: where ? [where] : [] });
		return { title: `${counted(messages.length, "message")} seen, none touched`, messages };
	});
	return section(
		"Look at messages",
		h("p", { class: "quiet" }, "Nothing changes, neither their order nor a flag."),
		h(
			"form",
			{ class: "inline", onsubmit },
			fieldRow(fields, "peek"),
			h("div", { class: "buttons" }, h("button", { class: "primary", disabled: isBusy }, "Look")),
		),
	);
}

/** The octets of a body as they were published, in parts, by the message's position. Throws Error: it is gone. */
export async function whole(queue, position) {
	const wanted = { start: position, number: 1, unacked: true, format: "raw", body_size: WHOLE_OCTETS_MAX };
	const { messages } = await ask(queue, wanted);
	if (messages[0]?.position !== position) throw new Error("The message has left the queue.");
	return messages.map(({ body, body_part: part }) => decoded(part ?? body));
}
