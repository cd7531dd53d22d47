/* live: a page of a job that runs. It asks for the job's document each second, and draws what is in sight. */
hk.live = (() => {
	const { html } = hk.element;
	const EVERY_MS = 1000;
	const AWAY_MS = 4000; /* between questions that get no answer */
	const NEWS_MS = 1500; /* a document that is renewed less often is completed by news */
	const badge = html("span", { class: "pill neutral", id: "live", role: "status" }, "loading");
	const pause = html("button", { type: "button", class: "tool", "aria-pressed": "false", onclick: toggle }, "Pause");
	const state = { all: null, paused: false, timer: 0, asking: false, stale: new Set(), made: 0, wholeDue: 0, newsToo: false };
	const address = (what) => new URL(`${location.pathname.replace(/\/$/, "")}/${what}`, location.origin);

	/* ---- drawing ---- */

	const sectionsOf = (name) => [...document.querySelectorAll(`main > section[data-view~="${name}"]`)];
	const inSight = (section) => {
		const box = section.getBoundingClientRect();
		return box.bottom > -window.innerHeight / 2 && box.top < 1.5 * window.innerHeight;
	};

	/* Whether the reader is in the midst of something that a new drawing would take away. */
	function isBusy(sections) {
		const chosen = window.getSelection();
		return sections.some((section) => (!chosen.isCollapsed && section.contains(chosen.anchorNode))
			|| (document.activeElement.tagName === "SELECT" && section.contains(document.activeElement)));
	}

	/* Draws view NAME; focus, cursor and scrolling in its sections stay. */
	function draw(name) {
		const sections = sectionsOf(name);
		if (isBusy(sections)) {
			return;
		}
		const find = (what) => sections.flatMap((section) => [...section.querySelectorAll(what)]);
		const focusable = "a, button, input, select, canvas, [tabindex]";
		const at = find(focusable).indexOf(document.activeElement);
		const caret = at >= 0 && document.activeElement.type === "search" ? document.activeElement.selectionStart : null;
		const scrolled = find(".table-scroll, .heat, .flame").map((one) => [one.scrollLeft, one.scrollTop]);
		state.stale.delete(name);
		hk.page.show(name);
		find(".table-scroll, .heat, .flame").forEach((one, index) => one.scrollTo(...(scrolled[index] ?? [0, 0])));
		if (at >= 0) {
			const again = find(focusable)[at];
			again?.focus({ preventScroll: true });
			if (caret !== null) {
				again?.setSelectionRange?.(caret, caret);
			}
		}
	}

	function drawStale() {
		[...state.stale].filter((name) => sectionsOf(name).some(inSight)).forEach(draw);
	}

	/* ---- asking ---- */

	function say(kind, text, title) {
		badge.className = `pill ${kind}`;
		badge.title = title ?? "";
		badge.replaceChildren(text);
	}

	/* Findings of a whole document stay, but for those that the news have too. */
	function merged({ document: news, live }) {
		const urgent = news.urgent ?? null;
		const kept = urgent ? state.all.findings.filter((one) => one.topic !== "progress" && one.topic !== "divergence") : [];
		return { ...state.all, ...news, findings: urgent ? [...urgent, ...kept] : news.findings, live };
	}

	/* Takes what the collector answered; returns in how many milliseconds there is more, or null. */
	function take(fresh) {
		const begun = performance.now();
		const first = !state.all;
		state.all = merged(fresh);
		if (first) {
			hk.page.start(state.all);
		} else if (fresh.made_unix_ns !== state.made) {
			hk.page.take(state.all);
			hk.page.names.forEach((name) => state.stale.add(name));
			drawStale();
			hk.page.navigation();
		}
		state.made = fresh.made_unix_ns;
		if (!fresh.document.urgent) {
			state.wholeDue = performance.now() + fresh.next_ms;
			state.newsToo = fresh.next_ms > NEWS_MS;
		}
		const { dataset } = document.documentElement;
		dataset.refreshMs = (performance.now() - begun).toFixed(1);
		dataset.refreshes = String(Number(dataset.refreshes ?? 0) + 1);
		if (state.paused) {
			say("neutral", "paused");
		} else if (fresh.live) {
			say("good", "live", `The collector makes a newer document each ${(fresh.next_ms / 1000).toFixed(1)} s.`);
		} else {
			say("neutral", "ended");
		}
		if (!fresh.live && fresh.document.urgent) {
			state.newsToo = false; /* the whole document shows the end */
			return 0;
		}
		return !fresh.live ? null : fresh.document.urgent ? Math.max(EVERY_MS, fresh.next_ms) : EVERY_MS;
	}

	/* The whole document, or between two of a large job's what is new. */
	async function ask() {
		const whole = !state.all || !state.newsToo || performance.now() >= state.wholeDue;
		const response = await fetch(address(whole ? "data" : "news"), { cache: "no-store" });
		if (!response.ok) {
			throw new Error((await response.text()).trim() || `the collector answers ${response.status}`);
		}
		return response.json();
	}

	/* Asks once, and again after a while unless the job has ended. */
	async function turn() {
		const begun = performance.now();
		let wait = AWAY_MS;
		if (state.asking) {
			return;
		}
		state.asking = true;
		try {
			const next = take(await ask());
			wait = next === null ? null : Math.max(0, next - (performance.now() - begun));
		} catch (problem) {
			say("bad", state.all ? "no newer data" : "no data", `${problem.message}. After its end: hookcli report --format html`);
		}
		state.asking = false;
		if (wait !== null && !state.paused && !document.hidden) {
			state.timer = setTimeout(turn, wait);
		}
	}

	function resume() {
		clearTimeout(state.timer);
		if (!state.paused && !document.hidden) {
			turn();
		}
	}

	function toggle() {
		state.paused = !state.paused;
		pause.setAttribute("aria-pressed", String(state.paused));
		pause.replaceChildren(state.paused ? "Go on" : "Pause");
		if (state.paused) {
			clearTimeout(state.timer);
			say("neutral", "paused");
		} else {
			resume();
		}
	}

	document.querySelector(".bar-tools").prepend(badge, pause, html("a", { class: "tool", href: "/" }, "Jobs"));
	document.addEventListener("visibilitychange", resume);
	window.addEventListener("scroll", () => requestAnimationFrame(drawStale), { passive: true });
	turn();
	return { turn };
})();
