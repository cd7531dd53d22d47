/* memory: live bytes over time, what the peak was made of, peaks by rank and by library. */
hk.views.memory = (kept) => {
	const { html, head, choice } = hk.element;
	const { format, data, theme } = hk;
	const BINS = 400;
	const LINES = 8; /* ranks drawn at first; more on request */
	const spans = ["#0072b2", "#d98200", "#00845f", "#b0568c", "#c6500a", "#4aa3d8", "#7a5ea8", "#8a7a00"];
	const order = ["device", "managed", "pinned", "heap", "map"];
	const state = kept({ where: null, rank: null, added: [], chart: null });
	let paint = null;

	const whereOf = (row) => `${row.kind}\n${row.device}`;
	const whereName = (row) => `${format.name(row.kind)}${row.device >= 0 ? ` ${row.device}` : ""}`;
	const place = (row) => { const at = order.indexOf(row.kind); return at < 0 ? order.length : at; };

	/* Kinds and devices that main processes had, as [key, title]. */
	function wheres() {
		const seen = new Map();
		[...data.memory.peaks].sort((a, b) => place(a) - place(b) || a.device - b.device)
			.filter((row) => row.role === "main").forEach((row) => seen.set(whereOf(row), whereName(row)));
		return [...seen];
	}

	/* All of one kind on one axis of time: rows of [second, bytes of each series]. */
	function resample(list) {
		const from = Math.min(...list.map((one) => one.start_ns));
		const to = Math.max(...list.map((one) => one.end_ns), from + 1);
		const width = (to - from) / BINS;
		const rows = Array.from({ length: BINS }, (_, i) => [(from + i * width) / 1e9]);
		for (const one of list) {
			rows.forEach((row, i) => {
				const begin = from + i * width;
				const end = begin + width;
				if (end <= one.start_ns || begin > one.end_ns) {
					row.push(null);
					return;
				}
				const first = Math.max(0, Math.floor((begin - one.start_ns) / one.width_ns));
				const last = Math.max(first, Math.ceil((end - one.start_ns) / one.width_ns) - 1);
				let most = first >= one.max_bytes.length ? one.last_bytes : 0;
				for (let k = first; k <= last && k < one.max_bytes.length; k++) {
					most = Math.max(most, one.max_bytes[k]);
				}
				row.push(most);
			});
		}
		return rows;
	}

	const name = (one) => `rank ${one.rank}${one.role === "main" ? "" : ` ${one.role} ${one.pid}`}`;

	/* Series of a kind; several processes of a rank are distinguished by their pid. */
	function seriesOf(where) {
		const list = data.memory.series.filter((one) => whereOf(one) === where);
		const main = list.filter((one) => one.role === "main");
		return (main.length ? main : list).sort((a, b) => Math.max(...b.max_bytes) - Math.max(...a.max_bytes));
	}

	function legendOf(list) {
		return html("p", { class: "legend" }, ...list.map((one, index) => html("span", {},
			html("span", { class: "swatch", style: { background: spans[index % spans.length] } }), name(one))));
	}

	function curve(where, room) {
		const all = seriesOf(where);
		if (!all.length) {
			room.replaceChildren();
			return;
		}
		const box = html("div", { class: "curve" });
		const added = all.filter((series) => state.added.includes(series.rank));
		let shown = [...added, ...all.filter((series) => !added.includes(series))].slice(0, LINES);
		const legend = html("div", {});
		const values = html("p", { class: "note curve-values" }, "Point at the chart for values; drag to zoom, double-click to see all.");
		const rest = all.length > LINES
			? html("label", { class: "more" }, "also rank ", html("input", { type: "number", min: 0, "aria-label": "Another rank to draw",
				onchange: (event) => add(Number(event.target.value)) }))
			: null;
		room.replaceChildren(html("h3", {}, "Live bytes over time"), legend, box, values, rest ?? "",
			all.length > LINES ? html("p", { class: "small" }, `The ${LINES} ranks with the highest peaks of ${format.count(all.length)} are drawn.`) : "",
			data.memory.series_rows > data.memory.series.length ? html("p", { class: "table-foot" }, html("strong", { class: "cut" },
				`${format.count(data.memory.series.length)} of ${format.count(data.memory.series_rows)} curves are in this file; all of them: `),
			html("code", {}, "hookcli report --format json")) : "");

		function add(rank) {
			const one = all.find((series) => series.rank === rank);
			if (one && !shown.includes(one)) {
				state.added = [rank, ...state.added].slice(0, LINES);
				shown = [one, ...shown].slice(0, LINES);
				plot();
			}
		}

		function plot() {
			state.chart?.destroy();
			legend.replaceChildren(legendOf(shown));
			state.chart = new Dygraph(box, resample(shown), {
				labels: ["s", ...shown.map((one, index) => `${name(one)}${shown.findIndex((other) => name(other) === name(one)) === index ? "" : ` #${index}`}`)],
				colors: spans.slice(0, shown.length), strokeWidth: 1.6, stepPlot: true, fillGraph: shown.length === 1, includeZero: true,
				legend: "never", labelsKMG2: true, animatedZooms: false, axisLineColor: theme.style("--line"), gridLineColor: theme.style("--line-2"), axisLabelFontSize: 12,
				showRangeSelector: true, rangeSelectorHeight: 26, rangeSelectorPlotStrokeColor: theme.style("--ink-3"),
				rangeSelectorPlotFillColor: theme.style("--cell"), rangeSelectorPlotFillGradientColor: theme.style("--cell"), rangeSelectorBackgroundStrokeColor: theme.style("--line"),
				axes: { y: { axisLabelFormatter: (bytes) => format.bytes(bytes), axisLabelWidth: 76 },
					x: { axisLabelFormatter: (second) => `${Number(second.toPrecision(6))} s`, axisLabelWidth: 64 } },
				highlightCallback: (event, second, points) => values.replaceChildren(`at ${format.duration(second * 1e9)}: `,
					points.map((point) => `${point.name} ${format.bytes(point.yval)}`).join(" · ")),
			});
		}

		paint = plot;
		plot();
	}

	/* What was live when the rank was at its peak. */
	function composition(row) {
		const parts = [...row.at_peak.map((part) => [part.library, part.bytes]), ...(row.at_peak_rest_bytes > 0 ? [["other libraries", row.at_peak_rest_bytes]] : [])];
		const all = parts.reduce((sum, [, bytes]) => sum + bytes, 0);
		const colour = (index) => (index < row.at_peak.length ? spans[index % spans.length] : "var(--ink-3)");
		if (!all) {
			return html("p", { class: "note" }, "What this peak was made of is not known.");
		}
		return html("div", { class: "composition" },
			html("div", { class: "domain-bar" }, ...parts.map(([library, bytes], index) => html("span", {
				style: { width: `${(100 * bytes) / all}%`, background: colour(index) },
				onmousemove: (event) => hk.tip.show(event.clientX, event.clientY, format.base(library), [["live at the peak", format.bytes(bytes)], ["share", format.percent(bytes / all)]]),
				onmouseleave: hk.tip.hide }))),
			html("ul", { class: "parts" }, ...parts.map(([library, bytes], index) => html("li", {},
				html("span", { class: "swatch", style: { background: colour(index) } }), html("code", { title: format.name(library) }, format.base(library)),
				html("span", { class: "part-bytes" }, format.bytes(bytes)), html("span", { class: "part-share" }, format.percent(bytes / all))))));
	}

	function peak(where, room) {
		const rows = data.memory.peaks.filter((row) => whereOf(row) === where && row.role === "main");
		const highest = rows.reduce((best, row) => (!best || row.peak_bytes > best.peak_bytes ? row : best), null);
		const body = html("div");
		const show = (row) => body.replaceChildren(html("p", { class: "peak" }, html("b", {}, format.bytes(row.peak_bytes)),
			` on rank ${row.rank} at ${format.duration(row.peak_time_ns)}`,
			row.peak_low < row.peak_high ? html("span", { class: "note" }, ` (between ${format.bytes(row.peak_low)} and ${format.bytes(row.peak_high)}: records are missing)`) : ""),
		composition(row));
		const now = rows.find((row) => row.rank === state.rank) ?? highest;
		const choose = (row) => { state.rank = row.rank; show(row); };
		const chosen = html("select", { "aria-label": "Rank", onchange: (event) => choose(rows[event.target.value]) },
			...rows.map((row, index) => html("option", { value: index, selected: row === now }, `rank ${row.rank}`)));
		room.replaceChildren(html("h3", {}, "What the peak was made of ", rows.length > 1 ? chosen : ""), body);
		if (now) {
			show(now);
		}
	}

	const range = (row) => (row.peak_low < row.peak_high ? `${format.bytes(row.peak_low)} to ${format.bytes(row.peak_high)}` : format.bytes(row.peak_bytes));
	const bytes = (title, key, about) => ({ title, about, value: (row) => row[key], show: (row) => format.bytes(row[key]), hint: (row) => `${format.count(row[key])} bytes` });
	const number = (title, key) => ({ title, value: (row) => row[key], show: (row) => format.count(row[key]) });
	const kind = { title: "Memory", text: true, value: whereName };
	const role = { title: "Role", text: true, value: (row) => row.role };

	function tables() {
		const { memory } = data;
		const switches = data.others(memory.peaks, (row) => row.role);
		return [html("h3", {}, "By rank"), hk.table.build({ label: "Memory by rank", rows: memory.peaks, of: memory.peak_rows, sort: 3, limit: 12, filter: "Filter memory",
			switches, columns: [{ title: "Rank", text: true, value: (row) => row.rank, show: (row) => format.rank(row.rank) }, role, kind,
				{ title: "Peak", value: (row) => row.peak_bytes, show: range, hint: (row) => `${format.count(row.peak_bytes)} bytes` },
				{ title: "At", value: (row) => row.peak_time_ns, show: (row) => format.duration(row.peak_time_ns) },
				bytes("Live at the end", "live_bytes"), number("Allocations", "allocs"), number("Frees", "frees")] }),
		html("h3", {}, "By library"), hk.table.build({ label: "Memory by library", rows: memory.libraries, of: memory.library_rows, sort: 3, limit: 12, filter: "Filter libraries",
			switches, columns: [{ title: "Library", text: true, value: (row) => row.library, show: (row) => html("code", {}, format.base(row.library)), hint: (row) => format.name(row.library) },
				role, kind, bytes("Highest peak", "peak_bytes", "Of any rank"), { title: "on rank", value: (row) => row.peak_rank, show: (row) => format.rank(row.peak_rank) },
				bytes("Live at the end", "live_bytes", "Over all ranks"), number("Allocations", "allocs"), number("Frees", "frees")] })];
	}

	function draw() {
		const section = document.getElementById("memory");
		const kinds = wheres();
		const line = html("div", { class: "curve-block" });
		const made = html("div", { class: "peak-block" });
		if (!kinds.length) {
			section.replaceChildren(head("Memory", "No allocation was seen. The host's heap is traced with --hooks libc."));
			return;
		}
		const where = kinds.some(([key]) => key === state.where) ? state.where : kinds[0][0];
		const show = (key) => { state.where = key; curve(key, line); peak(key, made); };
		section.replaceChildren(head("Memory", "Live bytes of what hooked calls allocated, by the library that asked for it.", kinds.length > 1 ? choice("Memory", kinds, where, show) : null),
			html("div", { class: "memory-grid" }, line, made), ...tables());
		show(where);
	}

	return { draw, paint: () => paint?.(), busy: () => Boolean(state.chart?.isZoomed()) };
};
