/* precision: the page of hookcli compare: the first divergence, modules with their worst verdict, rows with all numbers. */
(() => {
	const { html, head } = hk.element;
	const { format } = hk;
	const data = JSON.parse(document.getElementById("data").textContent);
	/* From worst to best. */
	const LEVELS = ["no", "follows", "unmatched", "?", "yes", "equal"];
	const KIND = { no: "bad", follows: "warn", unmatched: "", "?": "", yes: "good", equal: "good" };

	const pill = (level) => html("span", { class: `pill ${KIND[level]}` }, level);
	const number = (value, digits = 3) => (typeof value === "string" ? value : value === null || value === undefined ? "–" : value === 0 ? "0" : value.toPrecision(digits));
	/* Infinite errors arrive as text and are worse than all numbers. */
	const sortable = (value) => (value === "inf" ? Infinity : typeof value === "number" ? value : null);
	const total = (levels) => LEVELS.reduce((sum, level) => sum + levels[level], 0);
	const worst = (levels) => LEVELS.find((level) => levels[level] > 0) ?? "equal";

	function counts(levels) {
		return LEVELS.filter((level) => levels[level] > 0).map((level) => `${format.count(levels[level])} ${level}`).join(" · ");
	}

	/* ---- first divergence ---- */

	function tile(title, value) {
		return html("div", { class: "tile" }, html("dt", {}, title), html("dd", {}, format.count(value)));
	}

	function first() {
		const found = data.first;
		document.title = `${format.base(data.a.path)} and ${format.base(data.b.path)} · hooktrace`;
		document.getElementById("first").replaceChildren(
			html("p", { class: "kicker" }, "A ", html("code", {}, format.name(data.a.path)), ` (${data.a.format}) compared with B `,
				html("code", {}, format.name(data.b.path)), ` (${data.b.format})`),
			html("h1", {}, found ? `First wrong: ${format.name(found.name)}` : "No operator went wrong by itself"),
			found ? html("p", { class: "when" }, format.name(found.text)) : null,
			found && found.stack.length ? html("ul", { class: "stack" }, ...found.stack.map((frame) => html("li", {}, format.name(frame)))) : null,
			html("dl", { class: "tiles" }, tile("Rows", total(data.levels)), tile("Equal bit by bit", data.levels.equal), tile("Agree", data.levels.yes),
				tile("Differ", data.levels.no), tile("Follow", data.levels.follows), tile("Unmatched", data.levels.unmatched)));
	}

	/* ---- modules ---- */

	const node = (name) => ({ name, children: new Map(), own: null, rows: [], levels: Object.fromEntries(LEVELS.map((level) => [level, 0])) });

	function tree() {
		const root = node("");
		const at = (path, visit) => {
			let here = root;
			visit?.(here);
			for (const part of path === "" ? [] : path.split(".")) {
				if (!here.children.has(part)) {
					here.children.set(part, node(part));
				}
				here = here.children.get(part);
				visit?.(here);
			}
			return here;
		};
		for (const module of data.modules) {
			at(module.path, (one) => LEVELS.forEach((level) => { one.levels[level] += module.levels[level]; }));
		}
		data.rows.forEach((row) => at(row.module).rows.push(row));
		return root;
	}

	const order = (a, b) => LEVELS.indexOf(worst(a.levels)) - LEVELS.indexOf(worst(b.levels));

	function rowLine(row) {
		return html("li", {}, pill(row.verdict), html("code", {}, format.name(row.name)), html("span", { class: "counts" },
			`rank ${row.rank_a} · step ${row.step} · ${format.name(row.reason)}`));
	}

	/* Children are drawn when their module is opened: a model may have thousands. */
	function branch(one, open) {
		const children = [...one.children.values()].sort(order);
		const leaf = children.length === 0 && one.rows.length === 0;
		const details = html("details", { class: leaf ? "leaf" : null },
			html("summary", {}, pill(worst(one.levels)), html("code", {}, format.name(one.name || "model")),
				html("span", { class: "counts" }, counts(one.levels))));
		const fill = () => {
			if (details.open && details.children.length === 1) {
				if (one.rows.length) {
					details.append(html("ul", {}, ...one.rows.slice(0, 50).map(rowLine)));
				}
				details.append(...children.map((child) => branch(child, false)));
			}
		};
		details.addEventListener("toggle", fill);
		details.open = open;
		fill();
		return details;
	}

	function modules() {
		document.getElementById("modules").replaceChildren(
			head("Modules", "The worst verdict of each module and of the modules inside it, worst first."),
			html("div", { class: "tree" }, branch(tree(), true)));
	}

	/* ---- rows ---- */

	function detail(row) {
		const list = (title, of) => (of ? html("div", {}, html("h4", {}, title), html("dl", { class: "numbers" },
			...Object.entries(of).flatMap(([key, value]) => [html("dt", {}, key.replaceAll("_", " ")),
				html("dd", {}, Array.isArray(value) ? `[${value.join(",")}]` : typeof value === "number" ? number(value, 6) : format.name(String(value)))]))) : null);
		return html("div", { class: "function-detail" }, list("Difference", row.difference), list("A", row.a), list("B", row.b));
	}

	function rows() {
		const text = (title, value, show) => ({ title, text: true, value, show });
		const of = (key) => (row) => sortable(row.difference?.[key]);
		const dtype = (row) => [...new Set([row.a?.dtype, row.b?.dtype].filter(Boolean))].join("/");
		const section = document.getElementById("rows");
		if (data.rows.length === 0) {
			section.replaceChildren(head("Rows"), html("p", { class: "empty" }, "All rows agree."));
			return;
		}
		section.replaceChildren(head("Rows", "Rows that do not agree, the worst first. A row opens to all numbers of both sides."), hk.table.build({
			rows: data.rows, label: "Rows compared", filter: "Filter rows", of: data.row_count, more: "hookcli compare --format csv", detail,
			columns: [{ title: "Verdict", value: (row) => -LEVELS.indexOf(row.verdict), show: (row) => pill(row.verdict) },
				text("Row", (row) => row.name, (row) => html("code", {}, format.name(row.name))),
				{ title: "Rank", value: (row) => row.rank_a }, { title: "Step", value: (row) => row.step }, text("dtype", dtype),
				{ title: "Error", about: "Sort by |a - b| / |b|", value: (row) => sortable(row.error), show: (row) => number(row.error, 2) },
				{ title: "Cosine", value: of("cosine"), show: (row) => number(row.difference?.cosine, 6) },
				{ title: "Max abs", value: of("max_abs"), show: (row) => number(row.difference?.max_abs, 2) },
				{ title: "Max rel", value: of("max_rel"), show: (row) => number(row.difference?.max_rel, 2) },
				{ title: "1/1000", value: of("within_1000"), show: (row) => (row.difference ? format.percent(row.difference.within_1000) : "–") },
				text("Why", (row) => row.reason, (row) => html("span", { class: "clip", title: format.name(row.reason) }, format.name(row.reason)))],
			sort: 0,
		}));
	}

	first();
	modules();
	rows();
	document.getElementById("foot").append(html("p", {}, "The same as text: ", html("code", {}, "hookcli compare --format text"),
		"; all rows and numbers: ", html("code", {}, "--format csv"), "."));
	document.getElementById("theme").addEventListener("click", hk.theme.toggle);
	document.getElementById("print").addEventListener("click", () => window.print());
	document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
