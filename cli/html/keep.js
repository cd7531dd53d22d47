/* keep: what a reader chose, by name: a page that is drawn again shows it as it was. */
hk.keep = (() => {
	const all = new Map();

	/* The state called NAME; INITIAL until there is one. */
	return (name, initial) => {
		if (!all.has(name)) {
			all.set(name, initial);
		}
		return all.get(name);
	};
})();
