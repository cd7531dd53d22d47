/* The page's source as bytes. The order of the scripts is the order in which they run; main.js
 * comes last. CMakeLists.txt gives the directories, and knows the files to depend on from here. */

#define BEGIN(name) .globl hk_html_##name; .hidden hk_html_##name; hk_html_##name:
#define END(name) .globl hk_html_##name##_end; .hidden hk_html_##name##_end; hk_html_##name##_end: .byte 0

	.section .rodata

BEGIN(page)
	.incbin "head.html"
	.incbin "page.html"
	.incbin "tail.html"
END(page)

BEGIN(style)
	.incbin "dygraph.css"
	.incbin "page.css"
	.incbin "table.css"
	.incbin "chart.css"
	.incbin "tree.css"
	.incbin "print.css"
END(style)

BEGIN(script)
	.incbin "dygraph.js"
	.incbin "format.js"
	.incbin "element.js"
	.incbin "keep.js"
	.incbin "data.js"
	.incbin "theme.js"
	.incbin "tip.js"
	.incbin "table.js"
	.incbin "histogram.js"
	.incbin "job.js"
	.incbin "domains.js"
	.incbin "timeline.js"
	.incbin "delays.js"
	.incbin "functions.js"
	.incbin "flame.js"
	.incbin "kernels.js"
	.incbin "heatmap.js"
	.incbin "memory.js"
	.incbin "ranks.js"
	.incbin "coverage.js"
	.incbin "main.js"
END(script)

BEGIN(still_script)
	.incbin "still.js"
END(still_script)

BEGIN(live_script)
	.incbin "live.js"
END(live_script)

BEGIN(jobs_page)
	.incbin "head.html"
	.incbin "jobs.html"
	.incbin "tail.html"
END(jobs_page)

BEGIN(jobs_script)
	.incbin "format.js"
	.incbin "element.js"
	.incbin "keep.js"
	.incbin "theme.js"
	.incbin "table.js"
	.incbin "jobs.js"
END(jobs_script)

BEGIN(compare_page)
	.incbin "head.html"
	.incbin "compare.html"
	.incbin "tail.html"
END(compare_page)

BEGIN(compare_script)
	.incbin "format.js"
	.incbin "element.js"
	.incbin "keep.js"
	.incbin "theme.js"
	.incbin "table.js"
	.incbin "compare.js"
END(compare_script)

BEGIN(precision_page)
	.incbin "head.html"
	.incbin "precision.html"
	.incbin "tail.html"
END(precision_page)

BEGIN(precision_script)
	.incbin "format.js"
	.incbin "element.js"
	.incbin "keep.js"
	.incbin "theme.js"
	.incbin "table.js"
	.incbin "precision.js"
END(precision_script)

	.section .note.GNU-stack, "", %progbits
