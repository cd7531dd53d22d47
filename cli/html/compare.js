/* compare: the page of hookcli diff. What is slower or larger, by more than chance, is marked; each change shows its interval. */
(() => {
	const { html, head, swatch } = hk.element;
	const { format } = hk;
	const data = JSON.parse(document.getElementById("data").textContent);
	const exact = (compared) => compared.change_low !== null && compared.change_low === compared.change_high;
	const significant = (compared) => compared.change_low > 0 || (compared.change_high !== null && compared.change_high < 0);

	/* Null where a side has nothing to compare; what was not there before is more than anything. */
	function ratio(compared) {
		return compared.change === null && compared.a === 0 && compared.b > 0 ? Infinity : compared.change;
	}

	function changeText(compared) {
		const change = ratio(compared);
		if (change === null) {
			return "–";
		}
		if (change === Infinity) {
			return "new";
		}
		return change === 0 ? "=" : change >= 9 ? `× ${(change + 1).toFixed(1)}` : `${change > 0 ? "+" : "−"}${Math.abs(change * 100).toFixed(1)} %`;
	}

	function interval(compared) {
		const end = (value) => (value === null ? "?" : `${(value * 100).toFixed(1)} %`);
		return ratio(compared) === null || exact(compared) || (compared.change_low === null && compared.change_high === null)
			? null : `95 %: from ${end(compared.change_low)} to ${end(compared.change_high)}`;
	}

	function changeShown(compared) {
		const change = ratio(compared);
		const sure = significant(compared) && !exact(compared);
		return html("span", { class: !sure ? "at" : change > 0 ? "worse" : "better" }, changeText(compared));
	}

	/* Before, after and change of one figure: three columns. */
	function columns(title, of, show) {
		return [
			{ title: `${title} A`, value: (row) => of(row).a, show: (row) => show(of(row).a) },
			{ title: "B", about: `Sort by ${title} of B`, value: (row) => of(row).b, show: (row) => show(of(row).b) },
			{ title: "change", about: `Sort by the change of ${title}`, value: (row) => ratio(of(row)), show: (row) => changeShown(of(row)),
				hint: (row) => interval(of(row)) },
		];
	}

	function job(side, one) {
		return html("div", { class: "verdict" }, html("h3", {}, `${side} · ${format.name(one.id)}`),
			html("p", {}, html("code", {}, format.name(one.command))),
			html("p", { class: "small" }, `started ${format.date(one.start_unix_ns)} · ${format.count(one.ranks)} rank${one.ranks === 1 ? "" : "s"} · `
				+ format.duration(one.duration_ns)));
	}

	function jobs() {
		const found = data.exceeded.map((one) => html("li", { class: "warning" },
			`${one.figure}${one.what ? ` of ${format.name(one.what)}` : ""}: ${changeText(one.compared)}, by `, html("code", {}, format.name(one.condition))));
		const undecided = data.undecided.map((one) => html("li", {}, html("code", {}, format.name(one.condition)), `: ${one.why}`));
		document.title = `${format.name(data.a.id)} and ${format.name(data.b.id)} · hooktrace`;
		document.getElementById("jobs").replaceChildren(html("p", { class: "kicker" }, "two jobs compared"),
			html("h1", {}, "Wall time ", changeText(data.wall_ns)),
			html("div", { class: "verdict-grid", style: { "margin-top": "18px" } }, job("A", data.a), job("B", data.b),
				found.length ? html("div", { class: "verdict warning" }, html("h3", {}, "Conditions that hold"), html("ul", {}, ...found)) : null,
			undecided.length ? html("div", { class: "verdict finding" }, html("h3", {}, "Conditions that nothing can be judged by"), html("ul", {}, ...undecided)) : null));
	}

	function functions() {
		const text = (title, value, show) => ({ title, text: true, value, show });
		const rows = data.functions;
		document.getElementById("functions").replaceChildren(
			head("Functions", "The largest difference of total time first. Coloured: more than chance between the calls and ranks of these two runs "
				+ "explains (95 %). Runs of one program may differ by themselves: compare a job with its repetition first."),
			hk.table.build({
				rows, label: "Functions compared", filter: "Filter functions",
				switches: [{ title: "helpers and launchers", hides: (row) => row.role !== "main" && rows.some((one) => one.role === "main") },
					{ title: "waits for events and threads", hides: (row) => row.idle }],
				columns: [text("Function", (row) => row.function, (row) => html("span", { class: "name" }, swatch(row.domain),
					html("code", { title: format.name(row.function) }, format.name(row.function)))),
				rows.some((row) => row.role !== "main") ? text("Role", (row) => row.role) : null,
				{ title: "Difference", value: (row) => (row.total_ns.a === null || row.total_ns.b === null ? null : Math.abs(row.total_ns.b - row.total_ns.a)),
					show: (row) => `${row.total_ns.b > row.total_ns.a ? "+" : ""}${format.duration(row.total_ns.b - row.total_ns.a)}` },
				...columns("Calls", (row) => row.calls, format.count), ...columns("Total", (row) => row.total_ns, format.duration),
				...columns("p50", (row) => row.p50_ns, format.duration), ...columns("p99", (row) => row.p99_ns, format.duration)],
				sort: rows.some((row) => row.role !== "main") ? 2 : 1,
			}));
	}

	function memory() {
		const section = document.getElementById("memory");
		section.hidden = data.memory.length === 0;
		const text = (title, value) => ({ title, text: true, value });
		section.replaceChildren(head("Memory", "The highest peak of any rank."), hk.table.build({
			rows: data.memory, label: "Memory compared",
			columns: [text("Memory", (row) => row.kind), text("Role", (row) => row.role),
				text("Device", (row) => (row.device < 0 ? "host" : String(row.device))), ...columns("Peak", (row) => row.peak_bytes, format.bytes)],
			sort: 5,
		}));
	}

	jobs();
	functions();
	memory();
	document.getElementById("foot").append(html("p", {}, "The same as text: ", html("code", {}, "hookcli diff --format text"),
		"; as a gate: ", html("code", {}, "--fail-on 'p99>10%'"), "."));
	document.getElementById("theme").addEventListener("click", hk.theme.toggle);
	document.getElementById("print").addEventListener("click", () => window.print());
	document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
