/* main: draws every section of a document, again for each newer one; and what is the page's own: navigation, keys, theme, print. */
hk.page = (() => {
	const { html } = hk.element;
	const names = ["job", "domains", "timeline", "delays", "functions", "flame", "kernels", "heatmap", "memory", "ranks", "coverage"];
	const drawn = () => names.map((name) => hk[name]).filter(Boolean);
	let seen = null;

	function navigation() {
		const sections = [...document.querySelectorAll("main > section[data-title]")].filter((section) => !section.hidden);
		const links = sections.map((section) => html("a", { href: `#${section.id}` }, section.dataset.title));
		if (links.map((link) => link.hash).join() === [...document.querySelectorAll("#nav a")].map((link) => link.hash).join()) {
			return;
		}
		document.getElementById("nav").replaceChildren(...links);
		seen?.disconnect();
		seen = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) =>
			links.forEach((link) => link.toggleAttribute("aria-current", link.hash === `#${entry.target.id}`))), { rootMargin: "-20% 0px -70% 0px" });
		sections.forEach((section) => seen.observe(section));
	}

	function keys(event) {
		if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) {
			return;
		}
		if (event.key === "/") {
			event.preventDefault();
			document.querySelector("#functions .filter")?.focus();
		} else if (event.key === "t") {
			hk.theme.toggle();
		}
	}

	/* What is drawn by pixels is drawn again when their number or their colours change. */
	const paint = () => drawn().forEach((view) => view.paint?.());

	let resizing = 0;
	function resized() {
		cancelAnimationFrame(resizing);
		resizing = requestAnimationFrame(paint);
	}

	/* Makes ALL the document that views show. */
	function take(all) {
		hk.theme.learn(all.domain_styles);
		hk.data = hk.read(all);
	}

	/* Draws view NAME of the document, unless the reader is busy in it. */
	function show(name) {
		if (!hk[name]?.busy?.()) {
			hk[name] = hk.views[name]((initial) => hk.keep(name, initial));
			hk[name].draw();
		}
	}

	/* Draws the first document. */
	function start(all) {
		take(all);
		names.forEach(show);
		navigation();
		document.getElementById("foot").append(
			html("p", {}, `Written by hooktrace ${all.version}. `, "The same as text: ", html("code", {}, "hookcli report --format text"),
				"; every call on a timeline: ", html("code", {}, "hookcli export --format perfetto"), "."),
			html("p", { class: "small" }, "Keys: / finds a function, t turns the theme, Tab and Enter reach everything else. ",
				"Charts of memory by dygraphs 2.2.1, © Dan Vanderkam and contributors, MIT licence."));
		document.getElementById("theme").addEventListener("click", hk.theme.toggle);
		document.getElementById("print").addEventListener("click", () => window.print());
		document.addEventListener("keydown", keys);
		window.addEventListener("resize", resized);
		hk.theme.ondraw(paint);
		document.documentElement.dataset.ready = String(Math.round(performance.now()));
	}

	return { names, start, take, show, navigation };
})();
