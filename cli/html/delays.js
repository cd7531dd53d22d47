/* delays: what made the ranks late that others waited for, and what the critical path went through. */
hk.views.delays = () => {
	const { html, head } = hk.element;
	const { format, data } = hk;

	const stack = (row) => (row.frames ?? []).map((frame) => frame.function).filter(Boolean).map(format.name).join(" ← ");
	const what = (title) => ({ title, text: true, value: (row) => row.text, show: (row) => html("code", {}, format.name(row.text)),
		hint: (row) => stack(row) || null });
	const time = (title, key, about) => ({ title, about, value: (row) => row[key], show: (row) => format.duration(row[key]) });
	const share = (key, whole) => ({ title: "Share", value: (row) => (whole > 0 ? row[key] / whole : 0), show: (row) => format.percent(whole > 0 ? row[key] / whole : 0) });
	const rank = { title: "Rank", value: (row) => row.rank };

	function costs(all) {
		return all.delays.length === 0
			? html("p", { class: "small" }, "No rank waited for another one, as far as calls were recorded.")
			: hk.table.build({ label: "Delay costs", rows: all.delays, of: all.delay_rows, sort: 2, limit: 8, more: "hookcli report --by delay",
				columns: [rank, what("What made it late"), time("Cost", "cost_ns", "How long ranks waited because of it"), share("cost_ns", all.wait_ns),
					time("Passed on", "passed_ns", "Part of it in waits of ranks that were awaited by others meanwhile")] });
	}

	function path(all) {
		const parts = Object.entries(all.path_classes).filter(([, ns]) => ns > 0)
			.map(([name, ns]) => `${name} ${format.percent(ns / all.path_ns)}`).join(", ");
		const unsure = all.path_unsure > 0 ? ` ${format.count(all.path_unsure)} times it may go to another rank, within the error of the clocks.` : "";
		return html("div", {}, html("h3", {}, "Critical path"),
			html("p", { id: "path-line" }, `${format.duration(all.path_ns)}, ends in rank ${all.path_last}: ${parts}.${unsure}`),
			hk.table.build({ label: "Critical path", rows: all.path, of: all.path_rows, sort: 2, limit: 8, more: "hookcli report --by path",
				columns: [rank, what("On the path"), time("Time", "ns"), share("ns", all.path_ns)] }));
	}

	function draw() {
		const section = document.getElementById("delays");
		const all = data.delay_costs;
		section.hidden = !all;
		if (section.hidden) {
			return;
		}
		const top = head("Delays", "What an awaited rank did longer than those that waited for it, by what the waits cost; and what the job would have to do faster to end earlier.");
		if (all.unread) {
			section.replaceChildren(top, html("p", { class: "small" }, "There are too many records for a page: see ", html("code", {}, "hookcli report --by delay"), " and ",
				html("code", {}, "--by path"), "."));
			return;
		}
		section.replaceChildren(top, ...all.incomplete.map((line) => html("p", { class: "small" }, `Incomplete: ${line}.`)), costs(all), path(all));
	}

	return { draw };
};
