// Forms and questions. A field: {name, label, type, value, options, hint, placeholder, required, rows, min, max, full}.
// Types: text, number, password, checkbox, select, area, json, file.

import { started } from "./act.js";
import { remove } from "./api.js";
import { link } from "./route.js";
import { h } from "./view.js";

/** Return the values of a form by name: numbers as numbers, empty fields left out, JSON parsed. Throws Error: unreadable JSON. */
export function valuesOf(form, fields) {
	const found = {};
	for (const field of fields) {
		const input = form.elements[field.name];
		if (!input) continue;
		if (field.type === "checkbox") found[field.name] = input.checked;
		else if (input.value === "") continue;
		else if (field.type === "number") found[field.name] = Number(input.value);
		else if (field.type === "json") found[field.name] = parsed(input.value, field.label);
		else found[field.name] = input.value;
	}
	return found;
}

function parsed(text, label) {
	try {
		return JSON.parse(text);
	} catch {
		throw new Error(`${label} is not JSON`);
	}
}

let ids = 0;
const idOf = new Map();

const identified = (name) => {
	if (!idOf.has(name)) idOf.set(name, `field-${(ids += 1)}`);
	return idOf.get(name);
};

/** A field with its label and hint. `scope` keeps ids of several forms apart. */
export function field(one, scope = "") {
	const id = identified(`${scope}/${one.name}`);
	const hint = one.hint && h("small", { id: `${id}-hint` }, one.hint);
	const common = {
		id,
		name: one.name,
		required: one.required,
		"aria-describedby": one.hint ? `${id}-hint` : null,
		onchange: one.onchange,
		oninput: one.oninput,
	};
	if (one.type === "checkbox")
		return h(
			"div",
			{ class: "field tickbox", key: one.name },
			h("label", { class: "check" }, h("input", { ...common, type: "checkbox", checked: one.value }), one.label),
			hint,
		);
	return h(
		"div",
		{ class: `field${one.full ? " full" : ""}`, key: one.name },
		h("label", { for: id }, one.label, one.required && h("span", { class: "must", title: "Required" }, " *")),
		control(one, common),
		hint,
	);
}

/** The fields of a form, side by side. */
export const fieldRow = (fields, scope, kind = "") =>
	h(
		"div",
		{ class: `fields ${kind}`.trim() },
		fields.map((one) => field(one, scope)),
	);

/** Where a form tells why it was refused. */
export const problem = (text) => h("p", { class: "error", role: "alert" }, text);

const choicesOf = ({ options }) => options.map((option) => (Array.isArray(option) ? option : [option, option]));

function control(one, common) {
	switch (one.type) {
		case "select":
			return h(
				"select",
				{ ...common, value: one.value ?? choicesOf(one)[0]?.[0] },
				choicesOf(one).map(([value, label]) => h("option", { value }, label)),
			);
		case "area":
		case "json":
			return h("textarea", {
				...common,
				rows: one.rows ?? 3,
				value: one.value ?? "",
				spellcheck: "false",
				placeholder: one.placeholder,
			});
		case "file":
			return h("input", { ...common, type: "file", accept: one.accept });
		default:
			return h("input", {
				...common,
				type: one.type ?? "text",
				value: one.value ?? "",
				min: one.min,
				max: one.max,
				placeholder: one.placeholder,
				autocomplete: one.autocomplete ?? "off",
				spellcheck: "false",
			});
	}
}

/**
 * Ask in a dialog. `run(values)` does what was asked and returns the sentence for the notice, or nothing; while it refuses,
 * the dialog stays and tells why. `fields` may be a function, of which others come at the next draw. `confirm` is a name that has to be typed, `after()` stands below the fields.
 */
export function ask(ctx, { title, text, fields = [], label, danger = false, confirm, run, wide = false, after }) {
	const chosen = () => [
		...(typeof fields === "function" ? fields() : fields),
		...(confirm === undefined
			? []
			: [{ name: "confirm", label: `Type “${confirm}” to confirm`, required: true, full: true }]),
	];
	const state = { error: "", isBusy: false };
	const close = () => ctx.dialog(null);
	const onsubmit = async (event) => {
		event.preventDefault();
		if (state.isBusy) return;
		const form = event.currentTarget;
		try {
			const values = valuesOf(form, chosen());
			if (confirm !== undefined && values.confirm !== confirm) throw new Error("The name is another one.");
			delete values.confirm;
			state.isBusy = true;
			state.error = "";
			ctx.draw();
			const notice = await run(values);
			close();
			if (notice) ctx.notice(notice);
			ctx.refresh();
		} catch (error) {
			state.error = error.message;
		}
		state.isBusy = false;
		ctx.draw();
	};
	ctx.dialog(() =>
		h(
			"dialog",
			{
				key: title,
				class: wide ? "wide" : null,
				"aria-labelledby": "dialog-title",
				created: (node) => queueMicrotask(() => node.showModal()),
				onclose: close,
			},
			h(
				"form",
				{ onsubmit },
				h("h2", { id: "dialog-title" }, title),
				text && h("p", null, text),
				fieldRow(chosen(), title),
				after?.(),
				problem(state.error),
				h(
					"footer",
					null,
					h("button", { type: "button", class: "plain", onclick: close }, "Cancel"),
					h(
						"button",
						{ class: danger ? "danger" : "primary", disabled: state.isBusy },
						state.isBusy ? "Working …" : label,
					),
				),
			),
		),
	);
}

/** A button that asks. `question()` returns what `ask` takes, or a promise of it. */
export const askButton = (ctx, text, kind, question) =>
	h("button", { class: kind || null, onclick: started(ctx, async () => ask(ctx, await question())) }, text);

/** A button that asks whether to remove what is at `place`; `done` is the notice then, and `page` where to go then. */
export const removeButton = (ctx, text, question) =>
	askButton(ctx, text, text.endsWith("…") ? "danger" : "link", () => {
		const { place, done, page, ...rest } = question();
		const run = async () => {
			await remove(place);
			if (page) ctx.go(link(page));
			return done;
		};
		return { danger: true, label: text.replace(" …", ""), run, ...rest };
	});
