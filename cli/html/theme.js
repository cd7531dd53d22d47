/* theme: light or dark, and colours that people with any eyes can tell apart (after Okabe and Ito). */
hk.theme = (() => {
	const hex = (colour) => `#${colour.toString(16).padStart(6, "0")}`;
	const known = Object.assign(Object.create(null), { rest: ["#e4e7eb", "#2b323b"] });
	const spare = [["#2a8c9c", "#5fc0cf"], ["#8a7a00", "#d1c23f"], ["#5a6b2f", "#a1b86a"], ["#8c4a4a", "#d08f8f"]];
	const listeners = [];
	const system = window.matchMedia("(prefers-color-scheme: dark)");
	const printing = window.matchMedia("print");
	let chosen = null;
	let forced = false;

	const dark = () => !forced && (chosen ?? (system.matches ? "dark" : "light")) === "dark";
	const pick = (pair) => pair[dark() ? 1 : 0];

	function pairOf(name) {
		if (!known[name]) {
			known[name] = spare[Object.keys(known).length % spare.length];
			publish();
		}
		return known[name];
	}

	/* Takes the colours that STYLES, of the document, give to domains. */
	function learn(styles) {
		for (const one of styles.filter(({ light, dark }) => light || dark)) {
			known[one.domain] = [hex(one.light), hex(one.dark)];
		}
		publish();
	}

	/* Colours of domains as variables of the style: what has them needs no drawing when the theme turns. */
	function publish() {
		Object.values(known).forEach((pair, index) =>
			document.documentElement.style.setProperty(`--domain-${index}`, pick(pair)));
	}

	function domain(name) {
		pairOf(name);
		return `var(--domain-${Object.keys(known).indexOf(name)})`;
	}

	/* The same for a canvas, which knows no variables. */
	const domainInk = (name) => pick(pairOf(name));

	/* From little to much, by lightness alone; VALUE of 0 to 1. */
	const ramps = [[[226, 236, 245], [186, 214, 235], [126, 184, 218], [63, 141, 195], [16, 92, 160], [8, 48, 107]],
		[[33, 48, 63], [28, 70, 108], [31, 105, 163], [67, 153, 214], [150, 208, 247], [238, 249, 255]]];
	function heat(value) {
		const ramp = pick(ramps);
		const place = Math.min(1, Math.max(0, value)) * (ramp.length - 1);
		const low = Math.min(ramp.length - 2, Math.floor(place));
		const mixed = ramp[low].map((from, k) => Math.round(from + (ramp[low + 1][k] - from) * (place - low)));
		return `rgb(${mixed.join(",")})`;
	}

	/* Less than the mean is blue, more is orange; VALUE of -1 to 1. */
	function apart(value) {
		const end = value < 0 ? [33, 102, 172] : [204, 88, 3];
		const middle = dark() ? [38, 44, 52] : [244, 245, 247];
		const share = Math.min(1, Math.abs(value));
		return `rgb(${middle.map((from, k) => Math.round(from + (end[k] - from) * share)).join(",")})`;
	}

	function set() {
		document.documentElement.dataset.theme = dark() ? "dark" : "light";
		publish();
	}

	function apply() {
		set();
		listeners.forEach((draw) => draw());
	}

	function toggle() {
		chosen = dark() ? "light" : "dark";
		apply();
	}

	/* Paper is white. */
	function paper(event) {
		forced = event.matches;
		apply();
	}

	set();
	system.addEventListener("change", apply);
	printing.addEventListener("change", paper);

	const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	return { learn, domain, domainInk, heat, apart, toggle, dark, style, ondraw: (draw) => listeners.push(draw) };
})();
