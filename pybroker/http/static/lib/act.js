// Steps that actions of several pages share.

import { counted } from "./format.js";
import { get } from "./api.js";

/** Do something to each row, one after the other; return how it went in a sentence. Throws Error where all failed. */
export async function each(rows, noun, done, act) {
	const failures = [];
	for (const row of rows) {
		try {
			await act(row);
		} catch (error) {
			failures.push(`${row.name}: ${error.message}`);
			if (error.status === 0) break;
		}
	}
	const text = `${counted(rows.length - failures.length, noun)} ${done}.`;
	if (failures.length) throw new Error(`${text} ${failures.slice(0, 5).join("; ")}${failures.length > 5 ? "; …" : ""}`);
	return text;
}

const namesOf = async (place) => (await get(place, { columns: "name" })).map(({ name }) => name);

export const userNames = () => namesOf("/api/users");

/** Return the names of the virtual hosts, the one that is looked at first. */
export async function vhostNames(ctx) {
	const names = await namesOf("/api/vhosts");
	const chosen = ctx.query.vhost;
	return names.includes(chosen) ? [chosen, ...names.filter((name) => name !== chosen)] : names;
}

/** Run something that a button starts; a failure becomes a notice. */
export const started = (ctx, work) => async () => {
	try {
		await work();
	} catch (error) {
		ctx.notice(error.message);
	}
};

/** Offer octets as a file. */
export function download(name, parts, type) {
	const url = URL.createObjectURL(new Blob(parts, { type }));
	const anchor = document.createElement("a");
	anchor.href = url;
	anchor.download = name;
	anchor.click();
	setTimeout(() => URL.revokeObjectURL(url), 1_000);
}

/** The octets of a text in base64. */
export const decoded = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
