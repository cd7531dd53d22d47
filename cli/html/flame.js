/* flame: from where functions were called, as a flame graph: callers above, the called function last, the width is time or calls. */
hk.views.flame = (kept) => {
	const { html, head, choice } = hk.element;
	const { format, data, theme } = hk;
	const ROW = 18;
	const LEAST = 0.6; /* pixels of the narrowest frame that is drawn */
	const LETTERS = 28; /* pixels of the narrowest frame with words */
	const stacks = data.stacks;
	const state = kept({ weight: "total", domain: "", functionAt: -1, group: -1, words: "", zoom: null, at: null });
	let board, canvas, context, said, found, root, shown = [];

	/* ---- the tree of what is chosen ---- */

	const frameText = (at) => (stacks.frame[at] < 0 ? `(${format.count(-stacks.frame[at])} more)` : stacks.texts[stacks.frame[at]]);
	const groupsSeen = () => [...new Set(stacks.values.filter((_, i) => i % 5 === 2))].sort((a, b) => a - b);

	function groupName(group) {
		const first = group * stacks.group_ranks;
		return group >= stacks.groups ? "no rank" : stacks.group_ranks > 1 ? `ranks ${first}–${first + stacks.group_ranks - 1}` : `rank ${first}`;
	}

	const chosen = (at, group) => (state.group < 0 || group === state.group) && (state.functionAt < 0 || at === state.functionAt) &&
		(!state.domain || stacks.functions[at].domain === state.domain);

	/* Every frame with its calls and its time, the functions called from it among its callees. */
	function build() {
		const nodes = stacks.caller.map((caller, at) => ({ text: frameText(at), domain: null, calls: 0, total: 0, callees: [] }));
		const called = new Map();
		nodes[0].text = "all stacks";
		for (let i = 0; i < stacks.values.length; i += 5) {
			const [at, number, group, calls, total] = stacks.values.slice(i, i + 5);
			if (chosen(number, group)) {
				const key = `${at} ${number}`;
				if (!called.has(key)) {
					const one = { text: stacks.functions[number].name, domain: stacks.functions[number].domain, calls: 0, total: 0, callees: [], caller: nodes[at] };
					called.set(key, one);
					nodes[at].callees.push(one);
				}
				for (const node of [called.get(key), nodes[at]]) {
					node.calls += calls;
					node.total += total;
				}
			}
		}
		/* Callers come before their callees. */
		for (let at = nodes.length - 1; at > 0; at--) {
			const caller = nodes[stacks.caller[at]];
			caller.calls += nodes[at].calls;
			caller.total += nodes[at].total;
			nodes[at].caller = caller;
			if (nodes[at].calls > 0) {
				caller.callees.push(nodes[at]);
			}
		}
		const order = (a, b) => b[state.weight] - a[state.weight] || a.text.localeCompare(b.text);
		[...nodes, ...called.values()].forEach((node) => node.callees.sort(order));
		return nodes[0];
	}

	/* ---- places ---- */

	const width = () => Math.max(320, board.clientWidth - 30);
	const chain = (node) => (node ? [...chain(node.caller), node] : []);

	/* The frames that are wide enough: {node, x, wide, line}, the zoomed one's callers in full width. */
	function place() {
		const list = [];
		const top = state.zoom ?? root;
		const callers = chain(top.caller);
		callers.forEach((node, line) => list.push({ node, x: 0, wide: width(), line, above: true }));
		const add = (node, x, wide, line) => {
			if (wide < LEAST) {
				return;
			}
			list.push({ node, x, wide, line });
			let next = x;
			for (const callee of node.callees) {
				const part = (wide * callee[state.weight]) / Math.max(1, node[state.weight]);
				add(callee, next, part, line + 1);
				next += part;
			}
		};
		add(top, 0, width(), callers.length);
		return list;
	}

	const matches = (node) => state.words !== "" && node.text.toLowerCase().includes(state.words);

	/* The weight of all frames that match, and of those only that are in none that does. */
	function matched(node) {
		return matches(node) ? node[state.weight] : node.callees.reduce((sum, callee) => sum + matched(callee), 0);
	}

	/* ---- drawing ---- */

	function hash(text) {
		let value = 0;
		for (let i = 0; i < text.length; i++) {
			value = (value * 31 + text.charCodeAt(i)) >>> 0;
		}
		return value;
	}

	/* Frames of callers are warm and pale, so that the called functions' domains stand out. */
	function ink(spot) {
		if (matches(spot.node)) {
			return theme.dark() ? "#b04fc4" : "#d79be4";
		}
		if (spot.node.domain) {
			return theme.domainInk(spot.node.domain);
		}
		const value = hash(spot.node.text);
		return theme.dark() ? `hsl(${18 + (value % 30)} 32% ${27 + (value % 7)}%)` : `hsl(${20 + (value % 30)} 78% ${84 + (value % 7)}%)`;
	}

	/* Black or white, whichever a colour lets be read. */
	function wordsOn(colour) {
		context.fillStyle = colour;
		const parsed = context.fillStyle;
		const [r, g, b] = [1, 3, 5].map((at) => parseInt(parsed.slice(at, at + 2), 16));
		return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#16191d" : "#ffffff";
	}

	/* As many letters of TEXT as fit: all have the same width. */
	function clipped(text, pixels, letter) {
		const most = Math.floor(pixels / letter);
		return text.length <= most ? text : most > 2 ? `${text.slice(0, most - 1)}…` : "";
	}

	function paint() {
		if (!canvas) {
			return;
		}
		shown = place();
		const lines = Math.max(...shown.map((spot) => spot.line)) + 1;
		context = hk.element.size(canvas, width(), lines * ROW);
		context.clearRect(0, 0, width(), lines * ROW);
		context.font = "12px ui-monospace, 'DejaVu Sans Mono', monospace";
		context.textBaseline = "middle";
		const letter = context.measureText("m").width;
		for (const spot of shown) {
			const colour = ink(spot);
			const y = spot.line * ROW;
			context.globalAlpha = spot.above ? 0.55 : 1;
			context.fillStyle = colour;
			context.fillRect(spot.x, y, Math.max(LEAST, spot.wide - (spot.wide > 3 ? 1 : 0)), ROW - 1);
			if (spot.wide >= LETTERS) {
				context.fillStyle = wordsOn(colour);
				context.fillText(clipped(format.name(spot.node.text), spot.wide - 8, letter), spot.x + 4, y + ROW / 2);
			}
			context.globalAlpha = 1;
			if (spot.node === state.at) {
				context.strokeStyle = theme.style("--accent");
				context.lineWidth = 2;
				context.strokeRect(spot.x + 1, y + 1, Math.max(1, spot.wide - 3), ROW - 3);
			}
		}
		say();
	}

	/* ---- words ---- */

	const amount = (node) => [["time", format.duration(node.total)], ["calls", format.count(node.calls)],
		["of all", format.percent(node[state.weight] / Math.max(1, root[state.weight]))]];

	function say() {
		const node = state.at ?? state.zoom ?? root;
		said.replaceChildren(html("code", {}, format.name(node.text)),
			`: ${format.duration(node.total)}, ${format.count(node.calls)} calls, ${format.percent(node[state.weight] / Math.max(1, root[state.weight]))}`);
		found.replaceChildren(state.words === "" ? "Click or Enter zooms, Escape shows all; arrows move."
			: `${format.percent(matched(root) / Math.max(1, root[state.weight]))} of the ${state.weight === "total" ? "time" : "calls"} has a frame with “${state.words}”`);
	}

	function note() {
		const some = stacks.functions.filter((one) => one.stacks < one.calls);
		const part = some.length ? ` Stacks of ${some.map((one) => `${format.count(one.stacks)} of ${format.count(one.calls)} calls of ${format.name(one.name)}`).slice(0, 3).join(", ")}${some.length > 3 ? ` and ${some.length - 3} more functions` : ""}: the others have none.` : "";
		const read = stacks.records < stacks.records_there ? ` ${format.short(stacks.records)} of ${format.short(stacks.records_there)} records were read.` : "";
		const lost = stacks.refused ? ` ${format.count(stacks.refused)} stacks could not be kept for lack of room.` : "";
		return `Callers above, the called function last. A frame is as wide as the time in calls from it, callees included, or as their number.${part}${read}${lost}`;
	}

	/* ---- what people do ---- */

	function select(node) {
		state.at = node;
		paint();
	}

	function zoom(node) {
		state.zoom = node === root ? null : node;
		state.at = node;
		hk.tip.hide();
		paint();
	}

	function change() {
		root = build();
		state.zoom = state.at = null;
		paint();
	}

	const under = (event) => {
		const box = canvas.getBoundingClientRect();
		const [x, line] = [event.clientX - box.left, Math.floor((event.clientY - box.top) / ROW)];
		return shown.find((spot) => spot.line === line && x >= spot.x && x < spot.x + spot.wide);
	};

	function pointer(event) {
		const spot = under(event);
		if (spot) {
			hk.tip.show(event.clientX, event.clientY, format.name(spot.node.text), amount(spot.node));
		} else {
			hk.tip.hide();
		}
	}

	function beside(node, step) {
		const row = node.caller ? node.caller.callees : [node];
		return row[Math.min(row.length - 1, Math.max(0, row.indexOf(node) + step))];
	}

	function key(event) {
		const at = state.at ?? state.zoom ?? root;
		const acts = { ArrowUp: () => select(at.caller ?? at), ArrowDown: () => select(at.callees[0] ?? at), ArrowLeft: () => select(beside(at, -1)),
			ArrowRight: () => select(beside(at, 1)), Enter: () => zoom(at), Escape: () => zoom(root), 0: () => zoom(root), Home: () => select(root) };
		if (acts[event.key]) {
			event.preventDefault();
			acts[event.key]();
		}
	}

	/* One of many, with "all" first. */
	function picker(label, options, now, pick) {
		return html("select", { "aria-label": label, onchange: (event) => { pick(event.target.value); change(); } },
			...options.map(([value, text]) => html("option", { value, selected: value === now }, text)));
	}

	function tools() {
		const domains = [...new Set(stacks.functions.map((one) => one.domain))].sort();
		const names = stacks.functions.map((one, at) => [at, format.name(one.name)]).sort((a, b) => a[1].localeCompare(b[1]));
		const groups = groupsSeen();
		return [
			choice("Width", [["total", "Time"], ["calls", "Calls"]], state.weight, (weight) => { state.weight = weight; change(); }),
			domains.length > 1 ? picker("Domain", [["", "all domains"], ...domains.map((one) => [one, one])], state.domain, (domain) => { state.domain = domain; }) : null,
			names.length > 1 ? picker("Function", [[-1, "all functions"], ...names], state.functionAt, (at) => { state.functionAt = Number(at); }) : null,
			groups.length > 1 ? picker("Ranks", [[-1, "all ranks"], ...groups.map((one) => [one, groupName(one)])], state.group, (group) => { state.group = Number(group); }) : null,
			html("input", { type: "search", class: "filter", placeholder: "Search frames", "aria-label": "Search frames", value: state.words,
				oninput: (event) => { state.words = event.target.value.trim().toLowerCase(); paint(); } }),
			html("button", { type: "button", class: "tool", onclick: () => zoom(root) }, "All"),
		].filter(Boolean);
	}

	function draw() {
		const section = document.getElementById("stacks");
		section.hidden = !stacks;
		if (section.hidden) {
			return;
		}
		canvas = html("canvas", { tabindex: "0", role: "img", onmousemove: pointer, onmouseleave: hk.tip.hide, onkeydown: key,
			onclick: (event) => { const spot = under(event); canvas.focus(); if (spot) { zoom(spot.node); } },
			"aria-label": "Flame graph of callers. The arrow keys move from frame to frame, Enter zooms, Escape shows all." });
		said = html("span", { "aria-live": "polite" });
		found = html("span", {});
		board = html("div", { class: "flame-board" }, html("div", { class: "flame" }, canvas), html("div", { class: "time-state" }, said, found));
		section.replaceChildren(head("Stacks", note()), html("div", { class: "table-tools flame-tools" }, ...tools()), board,
			html("p", { class: "table-foot" }, "As text: ", html("code", {}, "hookcli report --by stack"), "; for other tools: ", html("code", {}, "hookcli export --format pprof -o profile.pb.gz")));
		change();
	}

	/* `tree` and `seen` are for scripts: what is chosen, and where it is drawn. */
	return { draw, paint, busy: () => state.zoom !== null || state.at !== null, tree: () => root, seen: () => shown };
};
