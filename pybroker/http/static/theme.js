// Applies the chosen colours before the first paint. Without a choice the system's are used.
"use strict";
(() => {
	const chosen = localStorage.getItem("theme");
	if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
