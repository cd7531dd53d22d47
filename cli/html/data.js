/* data: what several views ask of the job's document ALL. */
hk.read = (all) => {
	const wall = (rank) => Math.max(0, (rank.end_ns ?? all.job.duration_ns) - rank.start_ns);

	const walls = all.ranks.map(wall);
	const columnOf = new Map(all.ranks.map((rank, index) => [rank.rank, index]));

	/* Columns of the function table as rows. */
	const f = all.functions;
	const functions = f.function.map((name, i) => ({
		name, domain: f.domain[i], role: f.role[i], library: f.libraries[f.library[i]],
		calls: f.calls[i], errors: f.errors[i], total: f.total_ns[i], self: f.self_ns[i], bytes: f.bytes[i], device: f.device_ns[i],
		min: f.min_ns[i], mean: f.mean_ns[i], p50: f.p50_ns[i], p90: f.p90_ns[i], p99: f.p99_ns[i], max: f.max_ns[i],
		maxRank: f.max_rank[i], imbalance: f.imbalance_permille[i] ? f.imbalance_permille[i] / 1000 : null,
		estimated: Boolean(f.estimated[i]), histogram: f.histogram[i],
	}));

	/* Threads that wait for an event or for each other do nothing: they would stand before what the job did. */
	const idle = (domain) => all.domain_styles.some((one) => one.domain === domain && one.idle);

	/* The domains whose share of the time has a place in headers, in their order. */
	const shares = all.domain_styles.filter((one) => one.title).sort((a, b) => a.order - b.order);

	/* Row of the map of ranks and functions that a function has, -1: it is not in it. */
	const rowOf = new Map(all.cells.function.map((name, i) => [`${all.cells.domain[i]}\n${name}`, i]));
	const cellRow = (domain, name) => rowOf.get(`${domain}\n${name}`) ?? -1;

	/* The switch of a table whose rows are of several roles: main processes alone at first, if there are any. */
	const others = (rows, role) => (rows.some((row) => role(row) === "main")
		? [{ title: "helpers and launchers", hides: (row) => role(row) !== "main" }] : []);

	return {
		...all, walls, wallAll: walls.reduce((a, b) => a + b, 0), functions, functionRows: f.rows, functionsAll: f.functions_all, callsAll: f.calls_all, idle, shares, others, columnOf, cellRow,
		start: Math.min(0, ...all.ranks.map((rank) => rank.start_ns)),
		end: Math.max(1, ...all.ranks.map((rank) => rank.end_ns ?? all.job.duration_ns)),
	};
};
