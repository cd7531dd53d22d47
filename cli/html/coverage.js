/* coverage: what the agent reached, and every process that was seen. */
hk.views.coverage = () => {
	const { html, head } = hk.element;
	const { format, data } = hk;
	const number = (title, key, about) => ({ title, about, value: (row) => row[key], show: (row) => format.count(row[key]) });

	function nodes() {
		if (!data.nodes.length) {
			return [];
		}
		return [html("h3", {}, "Nodes"), hk.table.build({ label: "Nodes", rows: data.nodes, sort: 0, limit: 16, columns: [
			{ title: "Node", text: true, value: (row) => format.name(row.host) }, { title: "State", text: true, value: (row) => row.state },
			number("Processes", "processes"), number("Live", "live"), { title: "Unsent", value: (row) => row.unsent_bytes, show: (row) => format.bytes(row.unsent_bytes) },
			number("Given up", "shed_records"), number("Collective calls checked", "sync_checks"), number("Contradictions", "sync_violations")] })];
	}

	function draw() {
		const roleOf = new Map(data.coverage.map((row, index) => [row, data.processes[index].role]));
		const notes = (row) => [].concat(row.notes ?? []).filter(Boolean).map(format.name).join("; ");
		document.getElementById("coverage").replaceChildren(
			head("Coverage", "What could be hooked in each process, and what could not: no events is not the same as no calls."),
			hk.table.build({ label: "Coverage", rows: data.coverage, of: data.rows.processes, more: "hookcli report --format json", filter: "Filter notes", sort: 0, limit: 16,
				switches: data.others(data.coverage, (row) => roleOf.get(row)), columns: [
				{ title: "Rank", text: true, value: (row) => row.rank, show: (row) => format.rank(row.rank) }, "pid" in (data.coverage[0] ?? {}) ? { title: "Pid", value: (row) => row.pid } : null,
				number("Objects", "objects", "Program and libraries that were looked at"), number("Slots patched", "slots_patched"), number("Slots refused", "slots_refused"),
				{ title: "Notes", text: true, value: notes, show: (row) => html("span", { class: "wrap" }, notes(row) || "–") }] }), ...nodes());
		document.getElementById("processes").replaceChildren(head("Processes", "Ranks, their helpers, and launchers."),
			hk.table.build({ label: "Processes", rows: data.processes, of: data.rows.processes, more: "hookcli report --format json", filter: "Filter commands and hosts", sort: 0, limit: 16,
				switches: data.processes.some((row) => row.role === "main") ? [{ title: "launchers", hides: (row) => row.role === "launcher" }] : [], columns: [
				{ title: "Rank", text: true, value: (row) => row.rank, show: (row) => format.rank(row.rank) }, { title: "Pid", value: (row) => row.pid }, { title: "Role", text: true, value: (row) => row.role },
				{ title: "Command", text: true, value: (row) => row.command, show: (row) => html("code", { class: "clip", title: format.name(row.command) }, format.name(row.command)) },
				{ title: "Host", text: true, value: (row) => format.name(row.host) },
				number("Calls", "calls"), { title: "Inside", about: "Time inside hooked calls that are no idle waits, over its threads", value: (row) => row.inside_ns, show: (row) => format.duration(row.inside_ns) },
				{ title: "Lived", value: (row) => (row.end_ns ?? data.job.duration_ns) - row.start_ns, show: (row) => format.duration((row.end_ns ?? data.job.duration_ns) - row.start_ns) },
				number("Records", "records"), { title: "Agent", text: true, value: (row) => row.agent },
				{ title: "Exit", text: true, value: (row) => `${row.exit.kind} ${row.exit.code ?? ""}`, show: (row) => hk.ranks.ending(row.exit) },
				{ title: "Note", text: true, value: (row) => format.name(row.note ?? ""), show: (row) => html("span", { class: "wrap" }, format.name(row.note ?? "") || "–") }] }));
	}

	return { draw };
};
