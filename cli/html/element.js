/* element: DOM and SVG without markup in strings: names from traced processes are never parsed. */
hk.element = (() => {
	function fill(node, attributes, children) {
		for (const [key, value] of Object.entries(attributes ?? {})) {
			if (key.startsWith("on")) {
				node.addEventListener(key.slice(2), value);
			} else if (key === "style") {
				Object.entries(value).forEach(([name, word]) => node.style.setProperty(name, word));
			} else if (value === true) {
				node.setAttribute(key, "");
			} else if (value !== false && value !== null && value !== undefined) {
				node.setAttribute(key, value);
			}
		}
		node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
		return node;
	}

	const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
	const svg = (tag, attributes, ...children) =>
		fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

	/* The head of a section: title, one line of explanation, tools at the right. */
	function head(title, note, ...tools) {
		return html("div", { class: "head" },
			html("div", {}, html("h2", {}, title), note ? html("p", { class: "note" }, note) : null),
			tools.length ? html("div", { class: "tools" }, ...tools) : null);
	}

	/* One of several: [[value, text]...], of which NOW is chosen; calls CHOSEN with another one's value. */
	function choice(label, options, now, chosen) {
		const group = html("div", { class: "choice", role: "radiogroup", "aria-label": label });
		const buttons = options.map(([value, text]) => html("button", {
			type: "button", role: "radio", "aria-checked": String(value === now), "data-value": value,
			onclick: (event) => {
				buttons.forEach((button) => button.setAttribute("aria-checked", String(button === event.currentTarget)));
				chosen(value);
			},
		}, text));
		group.append(...buttons);
		return group;
	}

	const swatch = (domain) => html("span", { class: "swatch", style: { background: hk.theme.domain(domain) }, title: domain });

	/* A canvas of CSS size WIDTH x HEIGHT, sharp on every screen; its context is scaled to CSS pixels. */
	function size(canvas, width, height) {
		const ratio = window.devicePixelRatio || 1;
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
		const context = canvas.getContext("2d");
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		return context;
	}

	return { html, svg, head, choice, swatch, size };
})();
