/* What a program can call of libfabric's library itself: libfabric_truth DIRECTORY. */
#include <rdma/fabric.h>

#include "known.h"

int main(int argc, char **argv)
{
	struct fi_info *hints, *info = NULL;
	struct fid_fabric *fabric = NULL;

	EXPECT(argc == 2);
	/* fi_allocinfo is an inline function. */
	hints = KNOWN(0, fi_dupinfo, NULL);
	hints->fabric_attr->prov_name = strdup("tcp");
	EXPECT(KNOWN(0, fi_getinfo, FI_VERSION(1, 9), NULL, NULL, 0, hints, &info) == 0);
	EXPECT(KNOWN(0, fi_fabric, info->fabric_attr, &fabric, NULL) == 0);
	fi_close(&fabric->fid);
	KNOWN(0, fi_freeinfo, info);
	hints->fabric_attr->prov_name[0] = '-';
	EXPECT(KNOWN_FAILURE(fi_getinfo, FI_VERSION(1, 9), NULL, NULL, 0, hints, &info) != 0);
	KNOWN(0, fi_freeinfo, hints);
	known_write(argv[0], argv[1], 0);
	return 0;
}
