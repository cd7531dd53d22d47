/* format: numbers as people read them. Every other script of the page hangs on the one name `hk`. */
"use strict";
const hk = { views: {} };

hk.format = (() => {
	const digits = (value) => (value >= 100 ? 0 : value >= 10 ? 1 : 2);
	const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

	function scaled(value, units, step) {
		let unit = 0;
		let rest = value;
		/* 999.9 of a unit would be written as 1,000 of it. */
		while (unit + 1 < units.length && rest >= step * 0.9995) {
			rest /= step;
			unit++;
		}
		return `${unit === 0 ? grouped.format(rest) : rest.toFixed(digits(rest))} ${units[unit]}`;
	}

	function duration(ns) {
		if (ns === null || ns === undefined) {
			return "–";
		}
		if (ns < 0) {
			return `−${duration(-ns)}`;
		}
		if (ns < 120e9) {
			return scaled(ns, ["ns", "µs", "ms", "s"], 1000);
		}
		const seconds = Math.round(ns / 1e9);
		const two = (n) => String(n).padStart(2, "0");
		return seconds < 3600
			? `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`
			: `${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} min`;
	}

	const bytes = (n) => (n === null || n === undefined ? "–" : scaled(n, ["B", "KiB", "MiB", "GiB", "TiB"], 1024));
	const count = (n) => (n === null || n === undefined ? "–" : grouped.format(n));
	const short = (n) => (n < 10000 ? grouped.format(n) : scaled(n, ["", "k", "M", "G", "T"], 1000).replace(" ", " "));

	function percent(share, places = 1) {
		if (!isFinite(share)) {
			return "–";
		}
		const least = 10 ** -(places + 2);
		return share > 0 && share < least / 2 ? `< ${(least * 100).toFixed(places)} %` : `${(share * 100).toFixed(places)} %`;
	}

	/* Names may hold anything; what has no shape, or turns the line, is shown as a mark. */
	const name = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, "\u2423");
	const base = (path) => name(/[^/]+$/.exec(path)?.[0] ?? path);

	/* Launchers have no rank. */
	const rank = (number) => (number < 0 ? "–" : String(number));

	const date = (unixNs) => new Date(unixNs / 1e6).toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");

	return { duration, bytes, count, short, percent, name, base, rank, date };
})();
