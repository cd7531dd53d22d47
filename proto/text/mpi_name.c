#include "text/mpi_name.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

bool hk_mpi_name(const char *function, char name[HK_MPI_NAME_BYTES])
{
	static const char prefix[] = "MPI_", f08[] = "_f08";
	size_t length = 0;

	*name = '\0';
	if (strncasecmp(function, prefix, sizeof(prefix) - 1) != 0) {
		return false;
	}
	for (function += sizeof(prefix) - 1; *function && length + 1 < HK_MPI_NAME_BYTES;
	     function++) {
		name[length++] = (char)tolower((unsigned char)*function);
	}
	length -= length > 0 && name[length - 1] == '_';
	name[length] = '\0';
	if (length >= sizeof(f08) && strcmp(name + length - (sizeof(f08) - 1), f08) == 0) {
		name[length - (sizeof(f08) - 1)] = '\0';
	}
	return true;
}
