/* functions: the table of functions, and what is known of each. */
hk.views.functions = () => {
	const { html, head, swatch } = hk.element;
	const { format, data, theme } = hk;

	const exact = (key) => (row) => (row[key] === null ? "not measured" : `${format.count(row[key])} ns`);
	const time = (title, key, about) => ({ title, about, value: (row) => row[key], show: (row) => format.duration(row[key]), hint: exact(key) });

	const columns = () => [
		{ title: "Function", text: true, value: (row) => row.name,
			show: (row) => html("span", { class: "name" }, swatch(row.domain), html("code", {}, format.name(row.name)),
				row.estimated ? html("span", { class: "tag", title: "scaled up from samples" }, "sampled") : null,
				row.role === "main" ? null : html("span", { class: "tag" }, row.role)) },
		{ title: "Called from", text: true, value: (row) => row.library, show: (row) => html("span", { class: "library" }, format.base(row.library)), hint: (row) => format.name(row.library) },
		{ title: "Calls", value: (row) => row.calls, show: (row) => format.count(row.calls) },
		time("Total", "total", "Time inside, callees included, over all ranks"),
		{ title: "% of time", about: "Of the wall time of all ranks", value: (row) => (row.total === null ? null : row.total / Math.max(1, data.wallAll)),
			show: (row) => (row.total === null ? "–" : format.percent(row.total / Math.max(1, data.wallAll))) },
		time("Self", "self", "Total without hooked calls inside"),
		data.functions.some((row) => row.device !== null)
			? time("On device", "device", "Time on devices, of activities and of what calls submitted; never added to time of the host") : null,
		time("p50", "p50"), time("p99", "p99"),
		{ title: "Max", value: (row) => row.max, hint: (row) => (row.max === null ? null : `${format.count(row.max)} ns on rank ${row.maxRank}`),
			show: (row) => (row.max === null ? "–" : html("span", {}, format.duration(row.max), data.ranks.length > 1 ? html("span", { class: "at" }, `@${row.maxRank}`) : null)) },
		data.ranks.length > 1 ? { title: "Imb.", about: "Imbalance: total of the rank with most, over the mean", value: (row) => row.imbalance,
			show: (row) => (row.imbalance === null ? "–" : html("span", { class: row.imbalance >= 1.5 ? "uneven" : "" }, row.imbalance.toFixed(2))) } : null,
		data.functions.some((row) => row.errors > 0) ? { title: "Errors", value: (row) => row.errors, show: (row) => format.count(row.errors) } : null,
		data.functions.some((row) => row.bytes > 0) ? { title: "Bytes", value: (row) => row.bytes, show: (row) => (row.bytes > 0 ? format.bytes(row.bytes) : "–") } : null,
		{ title: "Latencies", about: "Calls by latency, logarithmic; sorts by the spread p99 / p50", value: (row) => (row.p50 > 0 ? row.p99 / row.p50 : null),
			show: (row) => hk.histogram.small(row.histogram, theme.domain(row.domain)) },
	];

	/* One bar for each rank: its time in this function. */
	function ranks(row) {
		const at = row.role === "main" ? data.cellRow(row.domain, row.name) : -1;
		const count = data.ranks.length;
		if (at < 0 || count < 2) {
			return null;
		}
		const totals = data.cells.total_ns.slice(at * count, (at + 1) * count);
		const calls = data.cells.calls.slice(at * count, (at + 1) * count);
		const timed = totals.some((ns) => ns > 0);
		const values = timed ? totals : calls;
		const most = Math.max(1, ...values);
		return html("div", { class: "rank-bars-block" }, html("h4", {}, timed ? "Total by rank, all callers" : "Calls by rank, all callers"),
			html("div", { class: "rank-bars", style: { "max-width": `${count * 72}px` } }, ...values.map((value, column) => html("span", {
				style: { height: `${Math.max(1, (100 * (value ?? 0)) / most)}%`, background: theme.domain(row.domain) },
				onmousemove: (event) => hk.tip.show(event.clientX, event.clientY, `rank ${data.ranks[column].rank}`, [
					["total", format.duration(totals[column])], ["calls", format.count(calls[column])]]),
				onmouseleave: hk.tip.hide,
			}))),
			html("div", { class: "ends", style: { "max-width": `${count * 72}px` } },
				html("span", {}, `rank ${data.ranks[0].rank}`), html("span", {}, `rank ${data.ranks[count - 1].rank}`)));
	}

	function detail(row) {
		const facts = [["calls", format.count(row.calls)], ["errors", format.count(row.errors)], ["total", format.duration(row.total)],
			["self", format.duration(row.self)], ["shortest", format.duration(row.min)], ["mean", format.duration(row.mean)],
			["p50", format.duration(row.p50)], ["p90", format.duration(row.p90)], ["p99", format.duration(row.p99)],
			["longest", row.max === null ? "–" : `${format.duration(row.max)}, rank ${row.maxRank}`],
			["bytes", row.bytes > 0 ? format.bytes(row.bytes) : "–"]];
		return html("div", { class: "function-detail" },
			html("div", {}, html("h4", {}, "Latencies"), hk.histogram.large(row)),
			html("div", {}, html("h4", {}, "Numbers"), html("dl", { class: "numbers" }, ...facts.map(([name, value]) => [html("dt", {}, name), html("dd", {}, value)])),
				html("p", { class: "small" }, "called from ", html("code", {}, format.name(row.library)))),
			ranks(row));
	}

	/* Domains whose calls mostly enqueue work for a device. */
	const devices = new Set(["cuda", "nccl", "hip", "rccl", "acl", "aclnn", "hccl", "xpu", "bkcl", "cublas", "cudnn", "cufft", "cusolver", "cusparse"]);

	function draw() {
		const section = document.getElementById("functions");
		const device = data.functions.some((row) => devices.has(row.domain));
		section.replaceChildren(head("Functions",
			`By function and calling library, over all ranks. ${device ? "Times of calls of accelerators are the caller's: most of them only enqueue work. " : ""}Rows open for the latencies.`),
		data.functions.length
			? hk.table.build({ label: "Functions", columns: columns(), rows: data.functions, of: data.functionRows,
				sort: columns().filter(Boolean).findIndex((column) => column.title === "Total"), filter: "Filter functions and libraries", detail,
				switches: [{ title: "waits for events and threads", hides: (row) => data.idle(row.domain) },
					{ title: "launchers", hides: (row) => row.role === "launcher" && data.functions.some((one) => one.role !== "launcher") }] })
			: html("p", { class: "empty" }, "No hooked function was called: the coverage below says what was seen."));
	}

	return { draw };
};
