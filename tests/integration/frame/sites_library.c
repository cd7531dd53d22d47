#include "sites_library.h"

void sites_around(void (*back)(void))
{
	if (back) {
		back();
	}
}
