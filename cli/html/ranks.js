/* ranks: one row for each rank, and what ranks were inside of when they were last seen. */
hk.views.ranks = () => {
	const { html, head } = hk.element;
	const { format, data } = hk;

	function ending(exit) {
		const text = exit.code === null ? exit.kind : exit.kind === "exited" ? `exit ${exit.code}` : `${exit.kind} ${exit.code}`;
		const good = (exit.kind === "exited" || exit.kind === "detached") && !exit.code;
		return html("span", { class: `pill ${good ? "good" : exit.kind === "running" || exit.kind === "exec" ? "neutral" : "bad"}` }, text);
	}

	const spentIn = (domain) => {
		const one = data.domains.find((entry) => entry.domain === domain);
		return (row) => (one ? one.outermost_ns[data.columnOf.get(row.rank)] : null);
	};

	function domainColumns() {
		return data.shares.filter(({ domain }) => data.domains.some((one) => one.domain === domain)).map(({ domain, title }) => ({
			title, about: `Time inside calls of ${domain}, with what these call`,
			value: spentIn(domain), show: (row) => format.duration(spentIn(domain)(row)) }));
	}

	const duration = (title, value) => ({ title, value, show: (row) => format.duration(value(row)) });

	function draw() {
		const wall = (row) => data.walls[data.columnOf.get(row.rank)];
		const clocks = data.ranks.some((row) => row.clock.error_ns > 0 || row.clock.error_ns === null);
		document.getElementById("ranks").replaceChildren(head("Ranks", "The main process of each rank; records are its helpers', too."),
			hk.table.build({ label: "Ranks", rows: data.ranks, of: data.rows.ranks, filter: "Filter hosts", limit: 32, sort: 0, columns: [
				{ title: "Rank", text: true, value: (row) => row.rank }, { title: "Host", text: true, value: (row) => format.name(row.host) },
				{ title: "Pid", value: (row) => row.pid }, duration("Wall", wall), ...domainColumns(), duration("CPU", (row) => row.cpu_ns),
				{ title: "RSS peak", value: (row) => row.rss_peak_bytes, show: (row) => format.bytes(row.rss_peak_bytes) },
				{ title: "Records", value: (row) => row.records, show: (row) => format.count(row.records) },
				{ title: "Lost", value: (row) => row.lost_records + row.shed_records, show: (row) => format.count(row.lost_records + row.shed_records) },
				{ title: "Tracing", about: "Estimated cost", value: (row) => row.tracing_cost_ns, show: (row) => format.percent(row.tracing_cost_ns / Math.max(1, wall(row)), 2) },
				clocks ? { title: "Clock", about: "No time is wrong by more", value: (row) => row.clock.error_ns,
					show: (row) => (row.clock.error_ns === null ? "unknown" : `± ${format.duration(row.clock.error_ns)}`) } : null,
				{ title: "Exit", text: true, value: (row) => `${row.exit.kind} ${row.exit.code ?? ""}`, show: (row) => ending(row.exit) }] }));
		open();
		governor();
	}

	function open() {
		const section = document.getElementById("open");
		section.hidden = !data.open_calls.length;
		if (!section.hidden) {
			section.replaceChildren(head("Open calls", "What threads were inside of when they were last seen: of a job that hangs, or was ended, this is where."),
				hk.table.build({ label: "Open calls", rows: data.open_calls, of: data.rows.open_calls, more: "hookcli report --format json", filter: "Filter open calls", sort: 6, columns: [
					{ title: "Rank", text: true, value: (row) => row.rank }, { title: "Role", text: true, value: (row) => row.role },
					{ title: "Thread", text: true, value: (row) => `${row.thread} ${format.name(row.thread_name)}` }, { title: "Depth", value: (row) => row.depth },
					{ title: "Function", text: true, value: (row) => row.function, show: (row) => html("code", {}, format.name(row.function)) },
					{ title: "Called from", text: true, value: (row) => row.library, show: (row) => format.base(row.library), hint: (row) => format.name(row.library) },
					duration("Open for", (row) => row.open_ns)] }));
		}
	}

	function governor() {
		const section = document.getElementById("governor");
		section.hidden = !data.governor.length;
		if (!section.hidden) {
			section.replaceChildren(head("Governor", "Levels that were changed to hold the cost of tracing; counts stay exact at all of them."),
				hk.table.build({ label: "Governor", rows: data.governor, of: data.rows.governor, more: "hookcli report --format json", filter: "Filter functions", sort: 0, columns: [
					{ title: "When", text: true, value: (row) => row.time_ns, show: (row) => format.duration(row.time_ns) }, { title: "Rank", value: (row) => row.rank },
					{ title: "Function", text: true, value: (row) => row.pattern, show: (row) => html("code", {}, format.name(row.pattern)) },
					{ title: "From", text: true, value: (row) => row.from }, { title: "To", text: true, value: (row) => row.to },
					{ title: "Note", text: true, value: (row) => (row.pinned ? "costs more than the budget, level given by the user" : "") }] }));
		}
	}

	return { draw, ending };
};
