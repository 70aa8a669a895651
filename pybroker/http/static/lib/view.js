// Views are descriptions of elements; `render` makes the document equal to one by the fewest changes.
// What is typed, focused, selected and scrolled stays. Text is only ever set as text.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "path", "line", "rect", "circle", "text", "title", "polyline"]);
// Element -> the description it was last made equal to.
const known = new WeakMap();

/** Describe an element: `h("a", {href, class, onclick}, child, ...)`. Children: strings, numbers, descriptions, arrays, null. */
export function h(tag, props, ...children) {
	return {
		tag,
		props: props ?? {},
		children: children
			.flat(Infinity)
			.filter((child) => child !== null && child !== undefined && child !== false && child !== ""),
	};
}

/** Make the children of `element` equal to the description of them. */
export function render(element, ...children) {
	patchChildren(element, h("", null, ...children).children);
}

function patchChildren(parent, wanted) {
	const keyed = new Map();
	const stay = new Set(wanted.map((child) => child.props?.key));
	for (const node of [...parent.childNodes]) {
		const key = known.get(node)?.props.key;
		if (key === undefined) continue;
		if (stay.has(key)) keyed.set(key, node);
		else node.remove();
	}
	let here = parent.firstChild;
	for (const child of wanted) {
		const key = child.props?.key;
		const node = key === undefined ? here : keyed.get(key);
		if (node && fits(node, child)) {
			if (node === here) here = here.nextSibling;
			else move(parent, node, here);
			keyed.delete(key);
			patch(node, child);
		} else {
			parent.insertBefore(create(child, parent), here);
		}
	}
	while (here) {
		const next = here.nextSibling;
		here.remove();
		here = next;
	}
}

/** Put an element before another one; it keeps the focus where browsers can do that. */
function move(parent, node, before) {
	if (parent.moveBefore) parent.moveBefore(node, before);
	else parent.insertBefore(node, before);
}

function fits(node, child) {
	if (typeof child !== "object") return node.nodeType === Node.TEXT_NODE;
	const before = known.get(node);
	return before !== undefined && before.tag === child.tag && before.props.key === child.props.key;
}

function create(child, parent) {
	if (typeof child !== "object") return document.createTextNode(String(child));
	const isSvg = child.tag === "svg" || (SVG_TAGS.has(child.tag) && parent.namespaceURI === SVG);
	const node = isSvg ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag);
	known.set(node, { tag: child.tag, props: { key: child.props.key }, children: [] });
	patch(node, child);
	child.props.created?.(node);
	return node;
}

function patch(node, child) {
	if (typeof child !== "object") {
		const text = String(child);
		if (node.data !== text) node.data = text;
		return;
	}
	const before = known.get(node).props;
	known.set(node, child);
	// A select takes its value when its options are there.
	patchChildren(node, child.children);
	for (const name of Object.keys(before)) if (!(name in child.props)) set(node, name, undefined, before[name]);
	for (const [name, value] of Object.entries(child.props)) if (value !== before[name]) set(node, name, value);
}

function set(node, name, value) {
	if (name === "key" || name === "created") return;
	if (name.startsWith("on")) listen(node, name.slice(2), value);
	else if (name === "value" || name === "checked" || name === "indeterminate" || name === "open") {
		// What somebody is typing is left alone.
		if (name === "value" && node === document.activeElement) return;
		if (node[name] !== value) node[name] = value ?? (name === "value" ? "" : false);
	} else if (value === undefined || value === null || value === false) node.removeAttribute(name);
	else node.setAttribute(name, value === true ? "" : value);
}

const handlers = new WeakMap();

function listen(node, type, handler) {
	let own = handlers.get(node);
	if (!own) handlers.set(node, (own = {}));
	if (!(type in own)) node.addEventListener(type, (event) => own[type]?.(event));
	own[type] = handler;
}
