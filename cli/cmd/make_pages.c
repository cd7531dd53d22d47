/* hookcli make-pages: makes live pages for the collector that starts it (cli/live). */
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/live/pages.h"
#include "settings/settings.h"
#include "wire/live/page_link.h"

static int run(int argc, char **argv)
{
	/* Jobs are found by this collector and in its store, never in a working directory. */
	if (argc != 3 || hk_settings_set(hk_command_settings(), "collector", argv[1]) < 0 ||
	    hk_settings_set(hk_command_settings(), "store", argv[2]) < 0 || chdir("/") < 0) {
		hk_error("make-pages is for hookcollector --http");
		return HK_EXIT_USAGE;
	}
	int r = hk_live_serve(STDIN_FILENO);
	if (r < 0) {
		hk_error("cannot answer the collector: %s", strerror(-r));
	}
	return r < 0 ? HK_EXIT_FAILED : HK_EXIT_DONE;
}

const struct hk_command hk_command_make_pages = {{.name = HK_PAGE_LINK_WORD}, run};
