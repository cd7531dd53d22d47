/* timeline: all ranks over time; hidden where the job has no records. */
hk.timeline = (() => {
	function draw() {
		document.getElementById("timeline").hidden = true;
	}

	return { draw };
})();
