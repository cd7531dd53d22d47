/* histogram: latencies on a logarithmic axis, as a line of bars in a table or large with its quantiles. */
hk.histogram = (() => {
	const { html, svg } = hk.element;
	const FINE = 4; /* buckets of the statistics, 32 to the octave, in one bar */

	/* Smallest latency of a fine bucket, in ns. */
	function lower(bucket) {
		return bucket < 64 ? bucket : (32 + (bucket % 32)) * 2 ** (Math.floor(bucket / 32) - 1);
	}

	/* [[bar, calls]...] of the flat list in the document. */
	function bars(flat) {
		const list = [];
		for (let i = 0; i + 1 < flat.length; i += 2) {
			list.push([flat[i], flat[i + 1]]);
		}
		return list;
	}

	/* Bars of equal width on a log axis: the place of a latency is that of its fine bucket. */
	function place(ns) {
		const value = Math.min(ns, 2 ** 40);
		if (value < 64) {
			return value / FINE;
		}
		const shift = Math.floor(Math.log2(value)) - 5;
		return (shift * 32 + value / 2 ** shift) / FINE;
	}

	function small(flat, colour) {
		const list = bars(flat);
		if (!list.length) {
			return "–";
		}
		const width = 84;
		const height = 18;
		const first = list[0][0];
		const span = Math.max(16, list[list.length - 1][0] - first + 1);
		const most = Math.max(...list.map(([, calls]) => calls));
		const step = width / span;
		return svg("svg", { class: "spark", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
			...list.map(([bar, calls]) => {
				const tall = Math.max(1, (calls / most) * (height - 1));
				return svg("rect", { x: ((bar - first) * step).toFixed(2), y: (height - tall).toFixed(2),
					width: Math.max(0.8, step - 0.3).toFixed(2), height: tall.toFixed(2), fill: colour });
			}));
	}

	/* Whole decades within the bars, else 1, 2, 5 of them. */
	function ticks(from, to) {
		const all = [];
		for (let decade = 1; decade <= 1e13; decade *= 10) {
			all.push(decade, 2 * decade, 5 * decade);
		}
		const inside = all.filter((ns) => ns >= lower(from * FINE) && ns <= lower(to * FINE));
		const decades = inside.filter((ns) => Number.isInteger(Math.log10(ns)));
		return decades.length >= 3 ? decades : inside;
	}

	function quantiles(row, x, top, bottom) {
		return [["p50", row.p50], ["p90", row.p90], ["p99", row.p99]].filter(([, ns]) => ns).map(([name, ns], index) => [
			svg("line", { class: "quantile", x1: x(place(ns)), x2: x(place(ns)), y1: top - 4, y2: bottom }),
			svg("text", { class: "quantile-name", x: x(place(ns)), y: top - 8 - index * 12, "text-anchor": "middle" },
				`${name} ${hk.format.duration(ns)}`),
		]).flat();
	}

	function large(row) {
		const list = bars(row.histogram);
		if (!list.length) {
			return html("p", { class: "note" }, "No latencies: these calls were counted, not timed.");
		}
		const size = { width: 620, height: 190, left: 8, right: 8, top: 52, bottom: 164 };
		const first = Math.max(0, list[0][0] - 2);
		const last = Math.max(list[list.length - 1][0] + 3, first + 24);
		const most = Math.max(...list.map(([, calls]) => calls));
		const x = (bar) => size.left + ((bar - first) / (last - first)) * (size.width - size.left - size.right);
		const step = x(1) - x(0);
		const colour = hk.theme.domain(row.domain);
		return svg("svg", { class: "histogram", viewBox: `0 0 ${size.width} ${size.height}`, role: "img",
			"aria-label": `Latencies of ${hk.format.name(row.name)}: half of the calls took less than ${hk.format.duration(row.p50)}` },
		svg("line", { class: "axis", x1: size.left, x2: size.width - size.right, y1: size.bottom, y2: size.bottom }),
		...list.map(([bar, calls]) => {
			const tall = Math.max(1.5, (calls / most) * (size.bottom - size.top));
			return svg("rect", { x: x(bar), y: size.bottom - tall, width: Math.max(1, step - 1), height: tall, fill: colour, rx: 1 },
				svg("title", {}, `${hk.format.duration(lower(bar * FINE))} to ${hk.format.duration(lower((bar + 1) * FINE))}: `
					+ `${hk.format.count(calls)} calls`));
		}),
		...ticks(first, last).map((ns) => svg("g", {},
			svg("line", { class: "axis", x1: x(place(ns)), x2: x(place(ns)), y1: size.bottom, y2: size.bottom + 4 }),
			svg("text", { class: "tick", x: x(place(ns)), y: size.bottom + 18, "text-anchor": "middle" }, hk.format.duration(ns).replace(/\.0+ /, " ")))),
		...quantiles(row, x, size.top, size.bottom));
	}

	return { small, large };
})();
