/* kernels: what was launched on devices. */
hk.views.kernels = () => {
	const { html, head } = hk.element;
	const { format, data } = hk;

	const time = (title, key, about) => ({ title, about, value: (row) => row[key], show: (row) => (row[key] === null ? "–" : format.duration(row[key])) });
	const columns = () => [
		{ title: "Kernel", text: true, value: (row) => row.short || row.name, show: (row) => html("code", {}, format.name(row.short || row.name || "(unknown)")),
			hint: (row) => format.name(row.name) },
		{ title: "Launches", value: (row) => row.launches, show: (row) => format.count(row.launches) },
		data.kernels.some((row) => row.failed > 0) ? { title: "Failed", value: (row) => row.failed, show: (row) => format.count(row.failed) } : null,
		time("Host", "host_ns", "Time in the calls that launch"),
		data.kernels.some((row) => row.device_ns !== null) ? time("Device", "device_ns", "Time on devices, as they report it") : null,
		{ title: "Grid", about: "Blocks, of the most frequent shape", text: true, value: (row) => row.grid ?? null },
		{ title: "Block", about: "Threads of a block", text: true, value: (row) => row.block ?? null },
		{ title: "Shapes", about: "Different grids, blocks and shared memory", value: (row) => row.shapes },
		data.ranks.length > 1 ? { title: "Ranks", value: (row) => row.ranks } : null,
	];

	function draw() {
		const section = document.getElementById("kernels");
		section.hidden = !(data.kernels ?? []).length;
		if (section.hidden) {
			return;
		}
		section.replaceChildren(head("Kernels", "What was launched on devices, over all ranks. Host and device time are never added up."),
			hk.table.build({ label: "Kernels", columns: columns(), rows: data.kernels, of: data.kernel_rows, sort: 1, filter: "Filter kernels", limit: 16,
				more: "hookcli report --by kernel" }),
			data.kernel_unrecorded > 0 ? html("p", { class: "small" }, `${format.count(data.kernel_unrecorded)} further calls that launch kernels were counted only.`) : "");
	}

	return { draw };
};
