/* main: draws every section, then those things that are the page's own: navigation, keys, theme, print. */
(() => {
	const { html } = hk.element;
	const views = [hk.job, hk.domains, hk.timeline, hk.functions, hk.flame, hk.kernels, hk.heatmap, hk.memory, hk.ranks, hk.coverage];

	function navigation() {
		const links = [...document.querySelectorAll("main > section[data-title]")].filter((section) => !section.hidden)
			.map((section) => html("a", { href: `#${section.id}` }, section.dataset.title));
		document.getElementById("nav").replaceChildren(...links);
		const seen = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) =>
			links.forEach((link) => link.toggleAttribute("aria-current", link.hash === `#${entry.target.id}`))), { rootMargin: "-20% 0px -70% 0px" });
		document.querySelectorAll("main > section[data-title]").forEach((section) => seen.observe(section));
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
	const paint = () => views.forEach((view) => view.paint?.());

	let resizing = 0;
	function resized() {
		cancelAnimationFrame(resizing);
		resizing = requestAnimationFrame(paint);
	}

	views.forEach((view) => view.draw());
	navigation();
	document.getElementById("foot").append(
		html("p", {}, `Written by hooktrace ${hk.data.version}. `, "The same as text: ", html("code", {}, "hookcli report --format text"),
			"; every call on a timeline: ", html("code", {}, "hookcli export --format perfetto"), "."),
		html("p", { class: "small" }, "Keys: / finds a function, t turns the theme, Tab and Enter reach everything else. ",
			"Charts of memory by dygraphs 2.2.1, © Dan Vanderkam and contributors, MIT licence."));
	document.getElementById("theme").addEventListener("click", hk.theme.toggle);
	document.getElementById("print").addEventListener("click", () => window.print());
	document.addEventListener("keydown", keys);
	window.addEventListener("resize", resized);
	hk.theme.ondraw(paint);
	document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
