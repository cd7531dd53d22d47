/* table: rows that sort by any column, by pointer or keyboard, that filter, and that say when they are not all.
 *
 * A column is {title, value(row), show(row)?, text?: true, hint?}: value is what sorts (a number, a text or null), show what
 * stands in the cell. Options: rows, columns, sort (index of the first column to sort by, descending unless it is text),
 * filter: "words in the box", switches: [{title, hides(row)}...] that show what is hidden at first, detail(row): an element below the row, of: how many rows there would be in all,
 * more: what shows them, limit: rows before "show all".
 */
hk.table = (() => {
	const { html } = hk.element;

	function compare(column, down) {
		return (a, b) => {
			const x = column.value(a);
			const y = column.value(b);
			/* What was not measured is last either way. */
			if (x === null || x === undefined || y === null || y === undefined) {
				return (x === null || x === undefined) - (y === null || y === undefined);
			}
			const order = column.text ? String(x).localeCompare(String(y), "en", { numeric: true }) : x - y;
			return down ? -order : order;
		};
	}

	function cell(column, row) {
		const value = column.value(row);
		const shown = column.show ? column.show(row) : value === null || value === undefined ? "–" : value;
		return html("td", {
			class: column.text ? "text" : "number",
			"data-value": value === null || value === undefined ? "" : value,
			title: column.hint ? column.hint(row) : null,
		}, shown);
	}

	function build(options) {
		const columns = options.columns.filter(Boolean);
		const limit = options.limit ?? 40;
		const first = columns[options.sort ?? 0];
		const state = hk.keep(`table ${options.label}`, { by: first.title, down: !first.text, words: "", all: false, on: new Set(), open: new Set() });
		const sorting = () => columns.find((column) => column.title === state.by) ?? first;
		const keyOf = (row) => columns.filter((column) => column.text).map((column) => column.value(row)).join("\n");
		const body = html("tbody");
		const foot = html("p", { class: "table-foot" });
		const heads = columns.map((column) => html("th", { scope: "col", class: column.text ? "text" : "number" },
			html("button", { type: "button", title: column.about ?? `Sort by ${column.title}`, onclick: () => sort(column) }, column.title)));
		const switches = (options.switches ?? []).filter((one) => options.rows.some(one.hides));
		const box = options.filter && options.rows.length > 8
			? html("input", { type: "search", class: "filter", placeholder: options.filter, "aria-label": options.filter, value: state.words,
				oninput: (event) => { state.words = event.target.value; draw(); } })
			: null;

		function sort(column) {
			state.down = state.by === column.title ? !state.down : !column.text;
			state.by = column.title;
			draw();
		}

		function matching() {
			const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
			return options.rows.filter((row) => {
				if (switches.some((one) => !state.on.has(one.title) && one.hides(row))) {
					return false;
				}
				const text = words.length ? columns.filter((c) => c.text).map((c) => c.value(row)).join(" ").toLowerCase() : "";
				return words.every((word) => text.includes(word));
			}).sort(compare(sorting(), state.down));
		}

		function expand(button, row, line) {
			const open = button.getAttribute("aria-expanded") === "true";
			button.setAttribute("aria-expanded", String(!open));
			if (open) {
				state.open.delete(keyOf(row));
				line.nextSibling.remove();
			} else {
				state.open.add(keyOf(row));
				line.after(html("tr", { class: "detail" }, html("td", { colspan: columns.length + 1 }, options.detail(row))));
			}
		}

		function line(row) {
			const tr = html("tr", {});
			if (options.detail) {
				tr.append(html("td", { class: "expand" }, html("button", { type: "button", "aria-expanded": "false",
					"aria-label": "Details", onclick: (event) => expand(event.currentTarget, row, tr) })));
			}
			tr.append(...columns.map((column) => cell(column, row)));
			return tr;
		}

		function say(shown, found) {
			const { count } = hk.format;
			const words = [];
			if (found > shown) {
				words.push(`${count(shown)} of ${count(found)} rows are shown. `,
					html("button", { type: "button", class: "link", onclick: () => { state.all = true; draw(); } }, "Show all"));
			} else if (found < options.rows.length && state.words) {
				words.push(`${count(found)} of ${count(options.rows.length)} rows match. `);
			}
			if (options.of > options.rows.length) {
				words.push(html("strong", { class: "cut" }, ` ${count(options.rows.length)} of ${count(options.of)} rows are in this file; `
					+ "all of them: "), html("code", {}, options.more ?? "hookcli report --format csv"));
			}
			foot.replaceChildren(...words);
			foot.hidden = words.length === 0;
		}

		function draw() {
			const found = matching();
			const shown = state.all ? found : found.slice(0, limit);
			body.replaceChildren(...shown.map(line));
			if (options.detail && state.open.size > 0) {
				const lines = [...body.children];
				shown.forEach((row, index) => state.open.has(keyOf(row)) && expand(lines[index].querySelector("button"), row, lines[index]));
			}
			if (!shown.length) {
				body.append(html("tr", {}, html("td", { class: "none", colspan: columns.length + 1 }, "No row matches.")));
			}
			heads.forEach((th, index) => th.setAttribute("aria-sort",
				columns[index] !== sorting() ? "none" : state.down ? "descending" : "ascending"));
			say(shown.length, found.length);
		}

		draw();
		return html("div", { class: "table-block" }, html("div", { class: "table-tools" }, box, ...switches.map((one) => html("label", { class: "switch" },
			html("input", { type: "checkbox", checked: state.on.has(one.title), onchange: (event) => { state.on[event.target.checked ? "add" : "delete"](one.title); draw(); } }), one.title))),
			html("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": options.label },
				html("table", {}, html("thead", {}, html("tr", {},
					options.detail ? html("td", { class: "expand" }) : null, ...heads)), body)), foot);
	}

	return { build };
})();
