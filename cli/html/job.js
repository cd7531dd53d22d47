/* job: what the job was, and the findings. */
hk.views.job = () => {
	const { html, head } = hk.element;
	const { format, data } = hk;
	const titles = { divergence: "Numbers that went wrong", time: "Where time went", balance: "Balance", memory: "Memory", records: "What was lost",
		clocks: "Clocks", cost: "Cost of tracing", coverage: "Coverage" };

	function ending(job) {
		if (job.exit === "" && job.closed) {
			return null; /* its end is unknown */
		}
		const good = /^(exit |exited )?0$/.test(job.exit);
		const running = job.exit === "" || job.exit === "running";
		const text = !running ? format.name(job.exit) : data.live ? "running" : "running when this was written";
		const neutral = running || job.exit === "detached";
		return html("span", { class: `pill ${neutral ? "neutral" : good ? "good" : "bad"}` }, text);
	}

	function fact(title, value, small) {
		return html("div", { class: "tile" }, html("dt", {}, title), html("dd", {}, value), small ? html("span", { class: "small" }, small) : null);
	}

	function share(domain) {
		const one = data.domains.find((entry) => entry.domain === domain);
		return one && data.wallAll > 0 ? one.together_ns / data.wallAll : 0;
	}

	function highest(kind) {
		return data.memory.peaks.filter((row) => row.kind === kind && row.role === "main")
			.reduce((best, row) => (!best || row.peak_bytes > best.peak_bytes ? row : best), null);
	}

	function facts() {
		const { job } = data;
		/* Of the ranks, as everywhere: what the launcher did before and after is not theirs. */
		const wall = Math.max(...data.ranks.map((rank) => rank.end_ns ?? job.duration_ns)) - Math.min(...data.ranks.map((rank) => rank.start_ns));
		const nodes = Math.max(1, job.nodes, new Set(data.ranks.map((rank) => rank.host)).size);
		const list = [fact("Wall time", format.duration(data.ranks.length ? wall : job.duration_ns)),
			fact("Ranks", job.world_size > data.rows.ranks ? `${format.count(data.rows.ranks)} of ${format.count(job.world_size)}` : format.count(data.rows.ranks),
				`${nodes} node${nodes > 1 ? "s" : ""}`)];
		for (const { domain, title } of data.shares) {
			if (share(domain) > 0 && list.length < 5) {
				list.push(fact(title, format.percent(share(domain)), `of the ranks' time, with what it calls${share(domain) > 1 ? "; threads and processes summed" : ""}`));
			}
		}
		for (const [kind, title] of [["device", "Device peak"], ["heap", "Heap peak"]]) {
			const row = highest(kind);
			if (row) {
				list.push(fact(title, format.bytes(row.peak_bytes), `rank ${row.rank}`));
			}
		}
		const rss = data.ranks.reduce((best, rank) => (!best || rank.rss_peak_bytes > best.rss_peak_bytes ? rank : best), null);
		if (rss && rss.rss_peak_bytes > 0) {
			list.push(fact("RSS peak", format.bytes(rss.rss_peak_bytes), `rank ${rss.rank}`));
		}
		const lost = data.lost_records + data.shed_records;
		list.push(fact("Records", format.short(data.records), lost > 0 ? `${format.short(lost)} lost or given up` : "none lost"));
		list.push(fact("Tracing cost", format.percent(data.wallAll > 0 ? job.tracing_cost_ns / data.wallAll : NaN, 2), "estimated"));
		return html("dl", { class: "tiles" }, ...list);
	}

	function draw() {
		const { job } = data;
		document.title = `${format.name(job.id)} · hooktrace`;
		document.getElementById("job").replaceChildren(
			html("p", { class: "kicker" }, `job ${format.name(job.id)}`, " ", ending(job) ?? ""),
			html("h1", {}, format.name(job.command || job.name || job.id)),
			html("p", { class: "when" }, job.start_unix_ns > 0 ? `started ${format.date(job.start_unix_ns)}` : "",
				` · ${format.count(data.functionsAll)} function${data.functionsAll === 1 ? "" : "s"}, ${format.short(data.callsAll)} calls`),
			facts());
		verdicts();
	}

	/* The sections of the page that show what a finding is about. */
	const targets = { time: "functions", balance: "heatmap", memory: "memory", records: "ranks", clocks: "ranks",
		cost: "governor", coverage: "coverage", divergence: "timeline", progress: "open" };

	function sentence(text) {
		return format.name(text).replace(/ %/g, "\u00a0%");
	}

	function finding(one) {
		const cost = one.cost_ns > 0 ? `, costs ${format.duration(one.cost_ns)}, ${format.percent(one.share)} of the ranks' time` : "";
		return html("li", { class: `finding ${one.confidence}` },
			html("p", { class: "what" }, html("a", { href: `#${targets[one.topic]}` }, sentence(one.evidence))),
			html("p", { class: "sure" }, `${one.confidence} confidence${cost}`),
			...one.details.map((line) => html("p", {}, sentence(line))),
			one.advice ? html("p", { class: "next" }, "next: ", html("code", {}, format.name(one.advice))) : null);
	}

	/* What suggests a change of the job, most important first. */
	function why() {
		const list = data.findings.filter((one) => one.weight === "finding");
		return list.length > 0 ? html("ol", { class: "why" }, ...list.map(finding)) : html("p", { class: "why" }, "Nothing stands out.");
	}

	function verdicts() {
		const order = ["warning", "fact"];
		const rest = data.findings.filter((one) => one.weight !== "finding");
		const topics = Object.keys(titles).filter((topic) => rest.some((one) => one.topic === topic));
		const card = (topic) => {
			const own = rest.filter((one) => one.topic === topic).sort((a, b) => order.indexOf(a.weight) - order.indexOf(b.weight));
			return html("article", { class: `verdict ${own[0].weight}` },
				html("h3", {}, html("a", { href: `#${targets[topic]}` }, titles[topic])),
				html("ul", {}, ...own.map((one) => html("li", { class: one.weight }, sentence(one.evidence)))));
		};
		document.getElementById("verdicts").replaceChildren(head("Why", "What the numbers below show, by what it costs, and nothing they do not."),
			why(), html("div", { class: "verdict-grid" }, ...topics.map(card)));
	}

	return { draw };
};
