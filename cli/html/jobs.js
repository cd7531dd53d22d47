/* jobs: the list of jobs that a collector knows, each with a link to its page; asked for again every two seconds. */
(() => {
	const { html, head } = hk.element;
	const { format } = hk;
	const EVERY_MS = 2000;
	const badge = document.getElementById("live");

	function say(kind, text, title) {
		badge.className = `pill ${kind}`;
		badge.title = title ?? "";
		badge.replaceChildren(text);
	}

	function state(job) {
		const good = job.state === "exit 0";
		return html("span", { class: `pill ${job.live || good ? "good" : job.state === "open" ? "neutral" : "bad"}` }, format.name(job.state));
	}

	function draw(jobs) {
		const section = document.getElementById("jobs");
		const title = head("Jobs", "Those that this collector follows, and those in its store.");
		const busy = section.contains(document.activeElement) && document.activeElement.type === "search";
		if (busy || !window.getSelection().isCollapsed) {
			return; /* a search, or a name that is being copied */
		}
		if (!jobs.length) {
			section.replaceChildren(title, html("p", { class: "empty" }, "No job yet. Trace one with: ", html("code", {}, "hookcli run -- CMD")));
			return;
		}
		section.replaceChildren(title, hk.table.build({ label: "Jobs", rows: jobs, sort: 4, filter: "Filter jobs", columns: [
			{ title: "Job", text: true, value: (job) => job.id, show: (job) => html("a", { href: `/jobs/${encodeURIComponent(job.id)}` }, html("code", {}, format.name(job.id))) },
			{ title: "State", text: true, value: (job) => job.state, show: state },
			{ title: "Command", text: true, value: (job) => job.command, show: (job) => html("code", { class: "clip", title: format.name(job.command) }, format.name(job.command)) },
			{ title: "Ranks", value: (job) => job.world_size },
			{ title: "Started", value: (job) => job.start_unix_ns, show: (job) => format.date(job.start_unix_ns) },
			{ title: "Time", value: (job) => job.duration_ns || null, show: (job) => format.duration(job.duration_ns || null) }] }));
	}

	async function turn() {
		try {
			const response = await fetch(new URL("/jobs", location.origin), { cache: "no-store" });
			if (!response.ok) {
				throw new Error(`the collector answers ${response.status}`);
			}
			draw((await response.json()).jobs);
			say("good", "live");
		} catch (problem) {
			say("bad", "no newer data", problem.message);
		}
		document.documentElement.dataset.ready ??= String(Math.round(performance.now()));
		setTimeout(turn, EVERY_MS);
	}

	document.getElementById("theme").addEventListener("click", hk.theme.toggle);
	turn();
})();
