// The shell: who is logged in, which page is shown, when it is asked for anew, and what surrounds it.

import { get, login, logout, session } from "./lib/api.js";
import { banner } from "./lib/banner.js";
import { clock } from "./lib/format.js";
import { listenToKeys } from "./lib/keys.js";
import { Live } from "./lib/live.js";
import { link, parse } from "./lib/route.js";
import { h, render } from "./lib/view.js";
import { loginPage } from "./pages/login.js";
import { NAVIGATION, pageOf } from "./pages/index.js";

const app = document.getElementById("app");
const NOTICE_MS = 6_000;
const AROUND_MS = 4_000;

const now = {
	user: undefined, // undefined: not known yet, null: nobody
	route: parse(location.hash),
	page: null,
	data: undefined,
	failure: null,
	at: 0,
	state: {},
	dialog: null,
	notice: "",
	around: null, // what surrounds each page
	left: "", // why the session ended
};
let isDue = false;
let isNew = false;
let noticeTimer = 0;

const live = new Live({
	done: ([data, around]) => {
		Object.assign(now, { data, around, failure: null, at: Date.now() });
		draw();
	},
	failed: (error) => {
		if (error.status === 401 && !error.facts.error?.includes("authorised"))
			return leave("The session has ended. Log in again to go on here.");
		now.failure = error;
		// A fault of the page itself.
		if (error.status === undefined) console.error(error);
		draw();
	},
	slow: draw,
});

/** What a page is given to show itself and to act. */
const ctx = {
	get query() {
		return now.route.query;
	},
	get args() {
		return now.route.args;
	},
	get user() {
		return now.user;
	},
	/** When the figures came. */
	get at() {
		return now.at;
	},
	get around() {
		return now.around;
	},
	/** What the page keeps as long as it is shown. */
	get state() {
		return now.state;
	},
	may: (tag) => now.user.tags.includes("administrator") || now.user.tags.includes(tag),
	draw,
	refresh: () => live.refresh(),
	here: (changes) => link(now.route.page, now.route.args, { ...now.route.query, ...changes }),
	go: (address) => {
		location.hash = address;
	},
	/** Change the address without a step in the history. */
	replace: (changes) => {
		history.replaceState(null, "", ctx.here(changes));
		follow();
	},
	dialog: (view) => {
		now.dialog = view;
		draw();
	},
	notice: (text) => {
		now.notice = text;
		clearTimeout(noticeTimer);
		noticeTimer = setTimeout(() => {
			now.notice = "";
			draw();
		}, NOTICE_MS);
		draw();
	},
};

/** Draw before the next frame: several causes, one drawing. */
function draw() {
	if (isDue) return;
	isDue = true;
	requestAnimationFrame(() => {
		isDue = false;
		try {
			render(app, shell());
		} catch (error) {
			// A page that cannot show what it was told; one can still go to another.
			console.error(error);
			live.stop();
			Object.assign(now, { failure: error, data: undefined, dialog: null });
			render(app, shell());
		}
		if (isNew && now.data !== undefined) arrive();
	});
}

/** Let readers begin at the head of a page that was not shown before. */
function arrive() {
	isNew = false;
	document.querySelector("main").scrollTo(0, 0);
	document.querySelector("main h1")?.focus({ preventScroll: true });
	// In a narrow window the pages stand in a row that is longer.
	document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

async function follow() {
	const route = parse(location.hash);
	const isOther = route.page !== now.route.page || route.args.join("/") !== now.route.args.join("/");
	now.route = route;
	if (!now.user) return draw();
	if (isOther || !now.page) {
		live.stop();
		Object.assign(now, { page: null, data: undefined, failure: null, state: {}, dialog: null });
		draw();
		const page = await pageOf(route).catch((error) => {
			now.failure = error;
			draw();
		});
		if (!page || now.route !== route) return;
		now.page = page;
		document.title = `${page.title(ctx)} – pybroker`;
		isNew = true;
	}
	draw();
	const { page } = now;
	live.start((signal) =>
		Promise.all([page.load(ctx, (place, query) => get(place, query, signal)), surroundings(signal)]),
	);
}

/** What every page shows: the node's name, and whom it holds back. Not asked for as often as the page's own figures. */
async function surroundings(signal) {
	if (now.around && Date.now() - now.around.at < AROUND_MS) return now.around;
	const trouble = await banner.load(ctx, (place, query) => get(place, query, signal));
	return { at: Date.now(), node: trouble.node, trouble };
}

async function enter(name, password) {
	now.user = await login(name, password);
	Object.assign(now, { page: null, left: "" });
	await follow();
}

function leave(why = "") {
	live.stop();
	Object.assign(now, { left: why, user: null, page: null, data: undefined, failure: null, around: null, dialog: null });
	draw();
}

// -- what is seen -----------------------------------------------------------------------------------------------------

function shell() {
	const isIn = Boolean(now.user);
	return h(
		"div",
		{ class: "shell" },
		h("button", { class: "skip", onclick: () => document.querySelector("main")?.focus() }, "Skip to the content"),
		top(isIn),
		isIn && navigation(),
		h(
			"main",
			{
				tabindex: "-1",
				"aria-busy": isIn && !now.failure && now.data === undefined ? "true" : null,
				class: now.failure && now.data !== undefined ? "stale" : null,
			},
			now.user === undefined ? null : isIn ? content() : loginPage(ctx, enter, now.left),
		),
		h(
			"div",
			{ class: "notices", role: "status", "aria-live": "polite" },
			now.notice && h("p", { class: "notice" }, now.notice),
		),
		now.dialog?.(),
	);
}

function top(isIn) {
	return h(
		"header",
		{ class: "top" },
		h("a", { class: "brand", href: "#/" }, h("img", { src: "icon.svg", alt: "", width: 20, height: 20 }), "pybroker"),
		now.around && h("span", { class: "node", title: "Node" }, h("bdi", null, now.around.node)),
		h("span", { class: "space" }),
		isIn && freshness(),
		themeSwitch(),
		isIn &&
			h("span", { class: "who", title: `Tags: ${now.user.tags.join(", ") || "none"}` }, h("bdi", null, now.user.name)),
		isIn &&
			h(
				"button",
				{
					class: "plain",
					onclick: async () => {
						await logout().catch(() => {});
						leave();
					},
				},
				"Log out",
			),
	);
}

function freshness() {
	const at = now.at ? clock(now.at) : "…";
	const [kind, text] = live.isPaused
		? ["", `Paused at ${at}`]
		: now.failure
			? ["bad", at]
			: live.isSlow
				? ["warn", `Slow answer since ${at}`]
				: ["ok", at];
	return h(
		"button",
		{
			class: "plain fresh",
			"aria-pressed": String(live.isPaused),
			title: live.isPaused ? "Paused. Refresh every 2 seconds" : "Refreshed every 2 seconds. Pause",
			onclick: () => {
				live.pause(!live.isPaused);
				draw();
			},
		},
		h("span", { class: `dot ${kind}`, "aria-hidden": "true" }),
		text,
	);
}

function themeSwitch() {
	const { theme } = document.documentElement.dataset;
	const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	return h(
		"button",
		{
			class: "plain",
			"aria-label": isDark ? "Light colours" : "Dark colours",
			title: isDark ? "Light colours" : "Dark colours",
			onclick: () => {
				const chosen = isDark ? "light" : "dark";
				document.documentElement.dataset.theme = chosen;
				localStorage.setItem("theme", chosen);
				draw();
			},
		},
		isDark ? "☀" : "☾",
	);
}

function navigation() {
	return h(
		"nav",
		{ class: "side", "aria-label": "Pages" },
		NAVIGATION.map(({ title, pages }) => {
			const seen = pages.filter((page) => !page.tag || ctx.may(page.tag));
			return (
				seen.length > 0 &&
				h(
					"div",
					null,
					h("h2", null, title),
					h(
						"ul",
						null,
						seen.map((page) =>
							h(
								"li",
								null,
								h(
									"a",
									{
										href: link(page.id),
										"aria-current": now.route.page === page.id ? "page" : null,
										title: `g ${page.key}`,
									},
									page.label,
								),
							),
						),
					),
				)
			);
		}),
	);
}

function content() {
	return [
		banner.view(ctx),
		failed(),
		now.page && now.data !== undefined
			? h("div", { class: "page", key: `${now.route.page}/${now.route.args.join("/")}` }, now.page.view(ctx, now.data))
			: !now.failure && h(
					"p",
					{ class: "quiet loading", role: "status" },
					live.isSlow ? "Still loading: the node is slow to answer …" : "Loading …",
				),
	];
}

function failed() {
	const { failure } = now;
	if (!failure) return null;
	if (failure.isOffline) {
		const text = now.data
			? `The node has not answered since ${clock(now.at)}. The figures below are the last ones; it is asked again every 2 seconds.`
			: "The node does not answer. It is asked again every 2 seconds.";
		return h("div", { class: "banner bad", role: "alert" }, h("strong", null, "No answer"), h("p", null, text));
	}
	if (failure.status === 404) return gone();
	return h(
		"div",
		{ class: "banner bad", role: "alert" },
		h("strong", null, failure.status ? "Refused" : "Error"),
		h("p", null, failure.message),
	);
}

/** Say that there is no such thing, or not any more. */
function gone() {
	const name = now.route.args.at(-1);
	return h(
		"div",
		{ class: "banner", role: "alert" },
		h("strong", null, now.data === undefined ? "Not found" : "Gone"),
		h(
			"p",
			null,
			now.data === undefined
				? "It does not exist, or not any more."
				: `It was there at ${clock(now.at)}. The figures below are the last ones.`,
			name && ctx.may("administrator") && [" ", h("a", { href: link("audit", [], { name }) }, "Look into the audit log")],
		),
	);
}

// -- start ------------------------------------------------------------------------------------------------------------

window.addEventListener("hashchange", () => {
	// It takes the filter of the new address.
	if (document.activeElement.id === "filter") document.activeElement.blur();
	follow();
});
listenToKeys(ctx);
draw();
// The page is loaded while the session is asked for.
pageOf(now.route).catch(() => {});
try {
	now.user = await session();
} catch (error) {
	now.failure = error;
	now.user = null;
}
await follow();
