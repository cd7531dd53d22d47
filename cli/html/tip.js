/* tip: the one box that says what is under the pointer, or under the cursor keys. */
hk.tip = (() => {
	const box = document.getElementById("tip");

	function show(x, y, title, rows) {
		const { html } = hk.element;
		box.replaceChildren(html("b", {}, title),
			html("dl", {}, ...rows.map(([name, value]) => [html("dt", {}, name), html("dd", {}, value)])));
		box.hidden = false;
		const edge = 12;
		const left = x + edge + box.offsetWidth > window.innerWidth ? x - edge - box.offsetWidth : x + edge;
		const top = y + edge + box.offsetHeight > window.innerHeight ? y - edge - box.offsetHeight : y + edge;
		box.style.left = `${Math.max(edge, left)}px`;
		box.style.top = `${Math.max(edge, top)}px`;
	}

	function hide() {
		box.hidden = true;
	}

	window.addEventListener("scroll", hide, { passive: true });
	return { show, hide };
})();
