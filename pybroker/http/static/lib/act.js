// Steps that actions of several pages share.

/** Offer octets as a file. */
export function download(name, parts, type) {
	const url = URL.createObjectURL(new Blob(parts, { type }));
	const anchor = document.createElement("a");
	anchor.href = url;
	anchor.download = name;
	anchor.click();
	setTimeout(() => URL.revokeObjectURL(url), 1_000);
}
