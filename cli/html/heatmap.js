/* heatmap: ranks across, functions down, a colour for each pair; the cursor keys move through it. */
hk.views.heatmap = (kept) => {
	const { html, head, choice } = hk.element;
	const { format, data, theme } = hk;
	const LABELS = 210;
	const ROW = 18;
	const TOP = 22;
	const FIRST = 30; /* functions before "show all" */
	const count = data.ranks.length;
	const state = kept({ metric: "share", all: false, at: null });
	let canvas, context, cell, legend;

	const value = (key, row, column) => data.cells[key][row * count + column];
	const total = (row, column) => value("total_ns", row, column) ?? 0;
	const shown = data.cells.function.map((name, row) => row).filter((row) => !data.idle(data.cells.domain[row]));
	const rows = () => (state.all ? shown.length : Math.min(FIRST, shown.length));

	function mean(row) {
		let sum = 0;
		for (let column = 0; column < count; column++) {
			sum += total(row, column);
		}
		return sum / count;
	}

	function mostOf(key) {
		return shown.reduce((most, row) => data.walls.reduce((sofar, wall, column) => Math.max(sofar, value(key, row, column) ?? 0), most), 1);
	}

	/* metric: title, the share 0 to 1 (or -1 to 1) of a cell's colour or null, and the legend's ends. */
	const logarithmic = (key, title, show) => {
		const most = mostOf(key);
		return { title, ends: ["0", show(most)], share: (row, column) => {
			const one = value(key, row, column);
			return one > 0 ? 0.04 + 0.96 * (Math.log1p(one) / Math.log1p(most)) : null;
		} };
	};
	const metrics = {
		share: (() => {
			let most = 0.001;
			for (const row of shown) {
				data.walls.forEach((wall, column) => { most = Math.max(most, total(row, column) / Math.max(1, wall)); });
			}
			return { title: "Share of the rank's time", ends: ["0 %", format.percent(most)], share: (row, column) => {
				const ns = total(row, column);
				return ns > 0 ? Math.sqrt(ns / Math.max(1, data.walls[column]) / most) : null;
			} };
		})(),
		apart: { title: "Apart from the mean", ends: ["−100 %", "+100 %"], apart: true, share: (row, column) => {
			const middle = mean(row);
			return middle > 0 ? total(row, column) / middle - 1 : null;
		} },
		calls: logarithmic("calls", "Calls", format.short),
		p99: logarithmic("p99_ns", "p99", format.duration),
		max: logarithmic("max_ns", "Longest call", format.duration),
	};

	const colour = (metric, share) => (metric.apart ? theme.apart(share) : theme.heat(share));

	function clipped(text, width) {
		let shown = text;
		while (shown.length > 4 && context.measureText(shown).width > width) {
			shown = `${shown.slice(0, -2)}…`.replace(/……$/, "…");
		}
		return shown;
	}

	function paint() {
		const metric = metrics[state.metric];
		const width = Math.max(320, canvas.parentElement.clientWidth);
		const gap = (width - LABELS) / count > 6 ? 1 : 0;
		cell = (width - LABELS) / count;
		context = hk.element.size(canvas, width, TOP + rows() * ROW);
		context.clearRect(0, 0, width, TOP + rows() * ROW);
		context.font = "12px ui-monospace, 'DejaVu Sans Mono', monospace";
		context.textBaseline = "middle";
		for (let line = 0; line < rows(); line++) {
			const row = shown[line];
			const y = TOP + line * ROW;
			context.fillStyle = theme.style("--ink-2");
			context.fillText(clipped(format.name(data.cells.function[row]), LABELS - 16), 0, y + ROW / 2);
			for (let column = 0; column < count; column++) {
				const share = metric.share(row, column);
				context.fillStyle = share === null ? theme.style("--cell") : colour(metric, share);
				context.fillRect(LABELS + column * cell, y, Math.max(1, cell - gap), ROW - 1);
			}
		}
		axis();
		mark();
		scale(metric);
	}

	function axis() {
		const every = Math.max(1, Math.ceil(28 / cell));
		const step = [1, 2, 4, 8, 16, 32, 64, 128, 256].find((one) => one >= every) ?? every;
		context.fillStyle = theme.style("--ink-3");
		context.textAlign = "center";
		for (let column = 0; column < count; column += step) {
			context.fillText(String(data.ranks[column].rank), LABELS + (column + 0.5) * cell, TOP / 2 - 2);
		}
		context.textAlign = "start";
	}

	function mark() {
		if (state.at) {
			context.strokeStyle = theme.style("--accent");
			context.lineWidth = 2;
			context.strokeRect(LABELS + state.at.column * cell - 1, TOP + state.at.row * ROW - 1, cell + 1, ROW + 1);
		}
	}

	function scale(metric) {
		const steps = Array.from({ length: 24 }, (_, i) => html("i", { style: { background: colour(metric, metric.apart ? i / 11.5 - 1 : i / 23) } }));
		legend.replaceChildren(html("span", {}, metric.ends[0]), html("span", { class: "ramp" }, ...steps), html("span", {}, metric.ends[1]));
	}

	function describe(line, column, x, y) {
		const row = shown[line];
		const rank = data.ranks[column];
		const ns = value("total_ns", row, column);
		const middle = mean(row);
		hk.tip.show(x, y, `${format.name(data.cells.function[row])} · rank ${rank.rank}`, [
			["total", format.duration(ns)], ["of the rank's time", ns === null ? "–" : format.percent(ns / Math.max(1, data.walls[column]))],
			["against the mean", middle > 0 ? `${(100 * ((ns ?? 0) / middle - 1)).toFixed(0)} %` : "–"],
			["calls", format.count(value("calls", row, column))], ["p99", format.duration(value("p99_ns", row, column))],
			["longest", format.duration(value("max_ns", row, column))], ["host", format.name(rank.host)]]);
	}

	function pointer(event) {
		const box = canvas.getBoundingClientRect();
		const column = Math.floor((event.clientX - box.left - LABELS) / cell);
		const row = Math.floor((event.clientY - box.top - TOP) / ROW);
		if (column < 0 || column >= count || row < 0 || row >= rows()) {
			hk.tip.hide();
		} else {
			describe(row, column, event.clientX, event.clientY);
		}
	}

	function key(event) {
		const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
		const move = moves[event.key];
		if (!move) {
			return;
		}
		event.preventDefault();
		const from = state.at ?? { row: 0, column: 0 };
		state.at = { row: Math.min(rows() - 1, Math.max(0, from.row + move[0])), column: Math.min(count - 1, Math.max(0, from.column + move[1])) };
		paint();
		const box = canvas.getBoundingClientRect();
		describe(state.at.row, state.at.column, box.left + LABELS + (state.at.column + 1) * cell, box.top + TOP + (state.at.row + 1) * ROW);
	}

	function foot() {
		const inFile = shown.length;
		const words = [];
		if (!state.all && inFile > FIRST) {
			words.push(`${FIRST} of ${format.count(inFile)} functions are shown. `, html("button", { type: "button", class: "link",
				onclick: () => { state.all = true; draw(); } }, "Show all"));
		}
		if (data.cells.rows > data.cells.function.length) {
			words.push(html("strong", { class: "cut" }, ` ${format.count(data.cells.function.length)} of ${format.count(data.cells.rows)} functions are in this file; all of them: `),
				html("code", {}, "hookcli report --format csv"));
		}
		return words.length ? html("p", { class: "table-foot" }, ...words) : null;
	}

	function draw() {
		const section = document.getElementById("heatmap");
		section.hidden = count < 2 || !shown.length;
		if (section.hidden) {
			return;
		}
		legend = html("p", { class: "scale" });
		canvas = html("canvas", { tabindex: "0", role: "img", onmousemove: pointer, onmouseleave: hk.tip.hide, onkeydown: key,
			onblur: () => { state.at = null; hk.tip.hide(); paint(); },
			"aria-label": "Ranks across, functions down. The cursor keys move from cell to cell and read it out." });
		section.replaceChildren(head("Ranks × functions", "Main processes; the functions with most time first. A column that differs from the others is a rank that does.",
			choice("Colour by", Object.entries(metrics).map(([name, metric]) => [name, metric.title]), state.metric, (name) => { state.metric = name; paint(); })),
		legend, html("div", { class: "heat" }, canvas), foot());
		paint();
	}

	return { draw, paint: () => canvas && paint() };
};
