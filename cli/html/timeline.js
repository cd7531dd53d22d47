/* timeline: what every rank did when: time across, ranks down, busy time by domain; a stretch of it can be chosen by pointer or keys. */
hk.views.timeline = (kept) => {
	const { html, head } = hk.element;
	const { format, data, theme } = hk;
	const LABELS = 74;
	const AXIS = 22;
	const HEIGHT = 460; /* of all rows together, at the most */
	const STACKED = 9; /* rows this high show domains above each other, others the one with most time */
	const BRUSH = 56;
	const view = data.overview;
	const all = view ? { from: view.start_ns, to: view.start_ns + view.bins * view.width_ns } : null;
	const state = kept({ from: 0, to: 0, whole: true, drag: null });
	let board, main, brush, words;

	const ranks = view ? view.ranks : [];
	const domains = view ? view.domains.filter((domain) => !data.idle(domain)) : [];
	const tall = Math.max(HEIGHT / Math.max(1, ranks.length) >= 1 ? 1 : 0, Math.min(34, HEIGHT / Math.max(1, ranks.length)));
	const height = () => Math.max(40, Math.round(tall * ranks.length));
	const width = () => Math.max(320, board.clientWidth - 30);
	const plot = () => width() - LABELS;

	/* Thousandths of DOMAIN in the bins from `first` to below `end` of a rank, on average. */
	function share(rank, domain, first, end) {
		const bins = rank.busy?.[domain];
		let sum = 0;
		for (let bin = first; bins && bin < end; bin++) {
			sum += bins[bin];
		}
		return sum / 1000 / Math.max(1, end - first);
	}

	/* The bins under a pixel column of a stretch of time. */
	function binsAt(x, from, to, columns) {
		const perPixel = (to - from) / columns / view.width_ns;
		const begin = (from - view.start_ns) / view.width_ns + x * perPixel;
		const first = Math.min(view.bins - 1, Math.max(0, Math.floor(begin)));
		return [first, Math.min(view.bins, Math.max(first + 1, Math.round(begin + perPixel)))];
	}

	const timeAt = (x) => state.from + ((x - LABELS) / plot()) * (state.to - state.from);
	const placeOf = (ns) => LABELS + ((ns - state.from) / (state.to - state.from)) * plot();

	/* Shares of all domains in a pixel column; of several threads together they may be more than one. */
	function column(list, first, end) {
		const shares = domains.map((domain) => list.reduce((sum, rank) => sum + share(rank, domain, first, end), 0) / list.length);
		const over = Math.max(1, shares.reduce((a, b) => a + b, 0));
		return shares.map((one) => one / over);
	}

	/* Areas above each other, from `top` down to `top + size`. */
	function stack(context, list, from, to, left, columns, top, size) {
		const shares = Array.from({ length: columns }, (_, x) => column(list, ...binsAt(x, from, to, columns)));
		const base = new Float64Array(columns);
		domains.forEach((domain, index) => {
			context.fillStyle = theme.domainInk(domain);
			context.beginPath();
			shares.forEach((one, x) => {
				if (one[index] > 0) {
					context.rect(left + x, top + size * (1 - base[x] - one[index]), 1, size * one[index]);
					base[x] += one[index];
				}
			});
			context.fill();
		});
	}

	const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

	/* One line of pixels for each rank, the colour of the domain with most time, as strong as its share. */
	function blend(context, left, columns) {
		const picture = new ImageData(columns, ranks.length);
		const inks = domains.map((domain) => rgb(theme.domainInk(domain)));
		const paper = rgb(theme.style("--cell"));
		ranks.forEach((rank, row) => {
			for (let x = 0; x < columns; x++) {
				const shares = column([rank], ...binsAt(x, state.from, state.to, columns));
				const most = shares.reduce((best, one, index) => (one > shares[best] ? index : best), 0);
				const ink = inks[most] ?? paper;
				const strength = Math.sqrt(shares[most] ?? 0);
				const at = 4 * (row * columns + x);
				for (let k = 0; k < 3; k++) {
					picture.data[at + k] = paper[k] + (ink[k] - paper[k]) * strength;
				}
				picture.data[at + 3] = alive(rank, x, columns) ? 255 : 0;
			}
		});
		const sheet = document.createElement("canvas");
		sheet.width = columns;
		sheet.height = ranks.length;
		sheet.getContext("2d").putImageData(picture, 0, 0);
		context.imageSmoothingEnabled = false;
		context.drawImage(sheet, left, 0, columns, height());
	}

	function alive(rank, x, columns) {
		const ns = state.from + ((x + 0.5) / columns) * (state.to - state.from);
		return ns >= rank.start_ns - view.width_ns && ns <= rank.end_ns + view.width_ns;
	}

	/* Where records are missing, or were not read. */
	function gaps(context) {
		const bin = (plot() * view.width_ns) / (state.to - state.from);
		const marks = [["unknown", theme.style("--gap"), 1], ["lost", theme.style("--bad"), 0]];
		context.save();
		context.beginPath();
		context.rect(LABELS, 0, plot(), height());
		context.clip();
		ranks.forEach((rank, row) => marks.forEach(([key, colour, whole]) => (rank[key] ?? []).forEach(([index, amount]) => {
			context.fillStyle = colour;
			context.globalAlpha = whole ? amount / 1000 : 1;
			context.fillRect(placeOf(view.start_ns + index * view.width_ns), row * tall, Math.max(1.5, bin), whole ? tall : Math.max(1, Math.min(3, tall)));
		})));
		context.restore();
	}

	/* A step of 1, 2 or 5 of a unit that leaves room for its words. */
	function stepOf(span, pixels) {
		const least = (span * 84) / pixels;
		const decade = 10 ** Math.floor(Math.log10(least));
		return [1, 2, 5, 10].map((one) => one * decade).find((one) => one >= least);
	}

	function axes(context) {
		const step = stepOf(state.to - state.from, plot());
		context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
		context.fillStyle = theme.style("--ink-3");
		context.textBaseline = "middle";
		context.textAlign = "center";
		const places = Math.max(0, Math.ceil(-Math.log10(step / 1e9) - 1e-9));
		for (let ns = Math.ceil(state.from / step) * step; ns <= state.to; ns += step) {
			const x = placeOf(ns);
			context.fillRect(x, height() + 1, 1, 4);
			context.fillText(`${(ns / 1e9).toFixed(places)} s`, Math.min(width() - 20, Math.max(LABELS + 12, x)), height() + 14);
		}
		context.textAlign = "right";
		const every = [1, 2, 4, 8, 16, 32, 64, 128, 256].find((one) => one * tall >= 14) ?? 256;
		for (let row = 0; row < ranks.length; row += every) {
			context.fillText(`rank ${ranks[row].rank}`, LABELS - 10, Math.max(7, (row + 0.5) * tall));
		}
	}

	function paintMain() {
		const context = hk.element.size(main, width(), height() + AXIS);
		const columns = Math.round(plot());
		context.clearRect(0, 0, width(), height() + AXIS);
		if (tall >= STACKED) {
			ranks.forEach((rank, row) => {
				const left = Math.max(LABELS, placeOf(rank.start_ns));
				context.fillStyle = theme.style("--cell");
				context.fillRect(left, row * tall, Math.max(0, Math.min(width(), placeOf(rank.end_ns)) - left), tall - 2);
				stack(context, [rank], state.from, state.to, LABELS, columns, row * tall, tall - 2);
			});
		} else {
			blend(context, LABELS, columns);
		}
		gaps(context);
		axes(context);
		if (state.drag?.kind === "zoom") {
			context.fillStyle = theme.style("--accent");
			context.globalAlpha = 0.22;
			context.fillRect(Math.min(state.drag.x, state.drag.at), 0, Math.abs(state.drag.at - state.drag.x), height());
		}
	}

	const brushPlace = (ns) => LABELS + ((ns - all.from) / (all.to - all.from)) * plot();

	function paintBrush() {
		const context = hk.element.size(brush, width(), BRUSH);
		const from = brushPlace(state.from);
		const to = brushPlace(state.to);
		context.clearRect(0, 0, width(), BRUSH);
		context.fillStyle = theme.style("--cell");
		context.fillRect(LABELS, 0, plot(), BRUSH);
		const some = ranks.length > 64 ? ranks.filter((_, index) => index % Math.ceil(ranks.length / 64) === 0) : ranks;
		stack(context, some, all.from, all.to, LABELS, Math.round(plot()), 0, BRUSH);
		context.fillStyle = theme.style("--paper");
		context.globalAlpha = 0.72;
		context.fillRect(LABELS, 0, from - LABELS, BRUSH);
		context.fillRect(to, 0, width() - to, BRUSH);
		context.globalAlpha = 1;
		context.strokeStyle = theme.style("--ink-3");
		context.strokeRect(from + 0.5, 0.5, Math.max(2, to - from - 1), BRUSH - 1);
		context.fillStyle = theme.style("--ink-2");
		context.fillRect(from - 1, BRUSH / 2 - 9, 4, 18);
		context.fillRect(to - 3, BRUSH / 2 - 9, 4, 18);
		context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
		context.textAlign = "right";
		context.textBaseline = "middle";
		context.fillStyle = theme.style("--ink-3");
		context.fillText("all ranks", LABELS - 10, BRUSH / 2);
	}

	function say() {
		const whole = state.from <= all.from && state.to >= all.to;
		state.whole = whole;
		const at = (ns) => `${(Math.max(0, ns) / 1e9).toFixed(3)} s`;
		const typed = (ns) => at(ns).replace(" ", ""); /* as an option takes it */
		board.dataset.from = state.from;
		board.dataset.to = state.to;
		words.replaceChildren(...(whole
			? ["Drag to zoom, double-click for all; keys: + and −, arrows, 0."]
			: [`${format.duration(state.to - state.from)} from ${at(state.from)}: `,
				html("code", {}, `hookcli export --format perfetto --from ${typed(state.from)} --to ${typed(state.to)} -o part.perfetto-trace`)]));
	}

	function paint() {
		if (main) {
			paintMain();
			paintBrush();
			say();
		}
	}

	/* Shows from FROM to TO, within what there is, and no less than a few bins. */
	function zoom(from, to) {
		const least = Math.min(all.to - all.from, 8 * view.width_ns);
		const span = Math.min(all.to - all.from, Math.max(least, to - from));
		state.from = Math.min(all.to - span, Math.max(all.from, (from + to - span) / 2));
		state.to = state.from + span;
		paint();
	}

	function scale(factor, middle = (state.from + state.to) / 2) {
		zoom(middle - (middle - state.from) * factor, middle + (state.to - middle) * factor);
	}

	function key(event) {
		const span = state.to - state.from;
		const acts = { "+": () => scale(0.5), "=": () => scale(0.5), "-": () => scale(2), 0: () => zoom(all.from, all.to), Home: () => zoom(all.from, all.to),
			ArrowLeft: () => zoom(state.from - span / 8, state.to - span / 8), ArrowRight: () => zoom(state.from + span / 8, state.to + span / 8) };
		if (acts[event.key]) {
			event.preventDefault();
			acts[event.key]();
		}
	}

	const inside = (event, canvas) => Math.min(width(), Math.max(LABELS, event.clientX - canvas.getBoundingClientRect().left));

	function press(event, kind) {
		const x = inside(event, event.currentTarget);
		event.currentTarget.setPointerCapture(event.pointerId);
		state.drag = { kind, x, at: x, from: state.from, to: state.to };
		hk.tip.hide();
	}

	function describe(event) {
		const box = main.getBoundingClientRect();
		const x = event.clientX - box.left;
		const rank = ranks[Math.floor((event.clientY - box.top) / tall)];
		if (!rank || x < LABELS) {
			hk.tip.hide();
			return;
		}
		const bins = binsAt(Math.floor(x - LABELS), state.from, state.to, Math.round(plot()));
		const sum = (key) => (rank[key] ?? []).filter(([index]) => index >= bins[0] && index < bins[1]).reduce((a, [, value]) => a + value, 0);
		let calls = 0;
		for (let bin = bins[0]; bin < bins[1]; bin++) {
			calls += rank.calls?.[bin] ?? 0;
		}
		hk.tip.show(event.clientX, event.clientY, `rank ${rank.rank} at ${format.duration(view.start_ns + bins[0] * view.width_ns)}`, [
			...view.domains.map((domain) => [domain, share(rank, domain, ...bins)]).filter(([, part]) => part > 0).map(([domain, part]) => [domain, format.percent(part)]),
			["calls", format.count(calls)], ...(sum("lost") ? [["lost records", format.count(sum("lost"))]] : []), ...(sum("unknown") ? [["", "not all was read here"]] : [])]);
	}

	function move(event) {
		if (!state.drag) {
			describe(event);
			return;
		}
		state.drag.at = inside(event, main);
		paintMain();
	}

	function release() {
		const drag = state.drag;
		state.drag = null;
		if (drag && Math.abs(drag.at - drag.x) > 4) {
			zoom(timeAt(Math.min(drag.x, drag.at)), timeAt(Math.max(drag.x, drag.at)));
		} else {
			paint();
		}
	}

	/* In the brush an end is pulled, the middle is moved, and outside a new stretch is drawn. */
	function pressBrush(event) {
		const x = inside(event, brush);
		const near = (ns) => Math.abs(brushPlace(ns) - x) < 8;
		press(event, near(state.from) ? "from" : near(state.to) ? "to" : x > brushPlace(state.from) && x < brushPlace(state.to) ? "both" : "new");
	}

	function moveBrush(event) {
		const { drag } = state;
		if (!drag) {
			return;
		}
		const ns = (pixels) => (pixels / plot()) * (all.to - all.from);
		drag.at = inside(event, brush);
		const by = ns(drag.at - drag.x);
		const made = [ns(drag.x - LABELS) + all.from, ns(drag.at - LABELS) + all.from].sort((a, b) => a - b);
		const ends = { from: [Math.min(drag.from + by, drag.to), drag.to], to: [drag.from, Math.max(drag.from, drag.to + by)],
			both: [drag.from + by, drag.to + by], new: made }[drag.kind];
		zoom(...ends);
	}

	function draw() {
		const section = document.getElementById("timeline");
		section.hidden = !view || !ranks.some((rank) => rank.busy && Object.keys(rank.busy).length) || !domains.length;
		if (section.hidden) {
			return;
		}
		main = html("canvas", { class: "time-main", tabindex: "0", role: "img", "aria-label": "Ranks over time. Plus and minus zoom, the arrow keys move.",
			onpointerdown: (event) => press(event, "zoom"), onpointermove: move, onpointerup: release, onpointercancel: release,
			onmouseleave: hk.tip.hide, ondblclick: () => zoom(all.from, all.to), onkeydown: key });
		brush = html("canvas", { class: "time-brush", tabindex: "0", role: "img", "aria-label": "The whole job; the stretch that is shown can be moved with the arrow keys.",
			onpointerdown: pressBrush, onpointermove: moveBrush, onpointerup: () => { state.drag = null; }, ondblclick: () => zoom(all.from, all.to), onkeydown: key });
		words = html("span", {});
		board = html("div", { class: "time-board" }, main, brush, html("div", { class: "time-state" }, words));
		const seen = view.ranks.some((rank) => rank.seen);
		const read = view.complete ? "" : seen ? " It shows what the collector saw while the job ran: not all records are read here." : ` ${format.short(view.records)} of ${format.short(view.records_there)} records were read; the rest is estimated from them.`;
		const missing = view.records_missing > 0 ? ` ${format.short(view.records_missing)} records are missing${seen ? "; none of this is drawn from records" : ": red, where it is known"}.` : "";
		section.replaceChildren(head("Timeline", `Time in outermost calls of each rank's main process, by domain; waits for events and threads are left out.${read}${missing}`,
			html("button", { type: "button", class: "tool", onclick: () => scale(0.5) }, "Zoom in"), html("button", { type: "button", class: "tool", onclick: () => scale(2) }, "Zoom out"),
			html("button", { type: "button", class: "tool", onclick: () => zoom(all.from, all.to) }, "All")), board,
		html("p", { class: "legend" }, ...domains.map((domain) => html("span", {}, hk.element.swatch(domain), domain)),
			html("span", {}, html("span", { class: "swatch", style: { background: "var(--cell)" } }), "waits, or outside hooked calls")));
		zoom(...(state.whole ? [all.from, all.to] : [state.from, state.to]));
	}

	return { draw, paint, busy: () => state.drag !== null };
};
