/* domains: how each rank spent its time, by domain of the calls. */
hk.views.domains = () => {
	const { html, svg, head } = hk.element;
	const { format, data, theme } = hk;
	const LINES = 24; /* ranks that have a line of their own; more are columns */

	const shown = data.domains.filter((one) => !data.idle(one.domain));

	/* Parts of a rank's time: [[domain, ns]...], what no hooked call accounts for last. */
	function parts(column) {
		const spent = shown.map((one) => [one.domain, one.self_ns[column]]).filter(([, ns]) => ns > 0);
		const rest = data.walls[column] - spent.reduce((sum, [, ns]) => sum + ns, 0);
		return rest > 0 ? [...spent, ["rest", rest]] : spent;
	}

	const title = (domain) => (domain === "rest" ? "waits, or outside hooked calls" : domain);

	function tip(event, column, domain, ns) {
		hk.tip.show(event.clientX, event.clientY, `rank ${data.ranks[column].rank} · ${title(domain)}`, [
			["time", format.duration(ns)], ["of its wall time", format.percent(ns / data.walls[column])]]);
	}

	function lines(most) {
		return html("div", { class: "domain-lines" }, ...data.ranks.map((rank, column) => html("div", { class: "domain-line" },
			html("span", { class: "domain-name" }, `rank ${rank.rank}`, html("span", { class: "host" }, format.name(rank.host))),
			html("div", { class: "domain-bar" }, ...parts(column).map(([domain, ns]) => html("span", {
				style: { width: `${(100 * ns) / most}%`, background: theme.domain(domain) },
				onmousemove: (event) => tip(event, column, domain, ns), onmouseleave: hk.tip.hide,
			}))),
			html("span", { class: "domain-wall" }, format.duration(data.walls[column])))));
	}

	function columns(most) {
		const width = 1200;
		const height = 200;
		const step = width / data.ranks.length;
		const rects = data.ranks.map((rank, column) => {
			let y = height;
			return parts(column).map(([domain, ns]) => {
				const tall = (ns / most) * (height - 4);
				y -= tall;
				return svg("rect", { x: (column * step).toFixed(2), y: y.toFixed(2), width: (step * (step > 3 ? 0.86 : 1)).toFixed(2),
					height: tall.toFixed(2), fill: theme.domain(domain), onmousemove: (event) => tip(event, column, domain, ns), onmouseleave: hk.tip.hide });
			});
		});
		return html("div", { class: "domain-columns" },
			svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": "Time of each rank by domain" }, ...rects.flat()),
			html("div", { class: "ends" }, html("span", {}, `rank ${data.ranks[0].rank}`), html("span", {}, `${format.duration(most)} at the top`),
				html("span", {}, `rank ${data.ranks[data.ranks.length - 1].rank}`)));
	}

	function draw() {
		const section = document.getElementById("domains");
		const most = Math.max(1, ...data.ranks.map((rank, column) => Math.max(data.walls[column], parts(column).reduce((sum, [, ns]) => sum + ns, 0))));
		const names = [...shown.map((one) => one.domain), "rest"];
		section.hidden = !shown.length || !data.ranks.length;
		if (section.hidden) {
			return;
		}
		section.replaceChildren(head("Where time went",
			"Self time inside hooked calls of each rank's main process, all threads together: what MPI calls of I/O is I/O here, while the shares "
				+ "above count it for both. Waits for events and for threads are no part of any domain, also those inside of MPI."),
		data.ranks.length > LINES ? columns(most) : lines(most),
		html("p", { class: "legend" }, ...names.map((name) => html("span", {}, hk.element.swatch(name), title(name)))));
	}

	return { draw };
};
